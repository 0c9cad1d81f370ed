#include "weir/policy/length_estimate.h"

#include <algorithm>
#include <cmath>

namespace weir::policy {

int LengthEstimate::bucket(std::uint32_t tokens) {
  if (tokens <= 1) return 0;
  return static_cast<int>(std::ceil(std::log2(static_cast<double>(tokens)) * kPerOctave));
}

std::uint32_t LengthEstimate::upper(int bucket) {
  const double top = std::exp2(static_cast<double>(bucket) / kPerOctave);
  return top >= 4294967295.0 ? 4294967295U : static_cast<std::uint32_t>(top);
}

void LengthEstimate::observe(std::uint32_t tokens) {
  for (double& c : counts_) c *= kDecay;
  total_ = total_ * kDecay + 1;
  counts_[static_cast<std::size_t>(bucket(tokens))] += 1;
}

std::uint32_t LengthEstimate::expect(double quantile, std::uint32_t max_tokens) const {
  return expect_beyond(quantile, 0, max_tokens);
}

std::uint32_t LengthEstimate::expect_beyond(double quantile, std::uint32_t so_far,
                                            std::uint32_t max_tokens) const {
  if (so_far >= max_tokens || total_ < kEnough) return max_tokens;
  const auto first = static_cast<std::size_t>(bucket(so_far + 1));
  double mass = 0;
  for (std::size_t b = first; b < counts_.size(); ++b) mass += counts_[b];
  if (mass < std::min(kEnough, 1 + total_ / 20))
    return max_tokens;  // Too few were that long to say.
  double seen = 0;
  for (std::size_t b = first; b < counts_.size(); ++b) {
    seen += counts_[b];
    if (seen >= quantile * mass)
      return std::clamp(upper(static_cast<int>(b)), so_far + 1, max_tokens);
  }
  return max_tokens;
}

}  // namespace weir::policy
