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
  for (double& weight : tails_) weight *= kDecay;
  for (int b = bucket(tokens); b >= 0; --b) tails_[static_cast<std::size_t>(b)] += 1;
}

std::uint32_t LengthEstimate::expect(double quantile, std::uint32_t max_tokens) const {
  return expect_beyond(quantile, 0, max_tokens);
}

std::uint32_t LengthEstimate::expect_beyond(double quantile, std::uint32_t so_far,
                                            std::uint32_t max_tokens) const {
  const double total = tails_[0];
  if (so_far >= max_tokens || total < kEnough) return max_tokens;
  const auto first = static_cast<std::size_t>(bucket(so_far + 1));
  const double longer = tails_[first];
  if (longer < std::min(kEnough, 1 + total / 20)) return max_tokens;  // Too few to say.
  // The first bucket beyond which no more than 1 - quantile of them lie.
  const double spare = (1 - quantile) * longer;
  const auto next = std::partition_point(tails_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                                         tails_.end(), [&](double tail) { return tail > spare; });
  if (next == tails_.end()) return max_tokens;
  return std::clamp(upper(static_cast<int>(next - tails_.begin()) - 1), so_far + 1, max_tokens);
}

}  // namespace weir::policy
