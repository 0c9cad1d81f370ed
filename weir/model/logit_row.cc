#include "weir/model/logit_row.h"

#include <algorithm>

namespace weir::model {
namespace {

constexpr std::size_t kPeaksOfScan = kScanBlock / kPeakBlock;
static_assert(kScanBlock % kPeakBlock == 0);

/// visit(from, to) for every run of numbers in [begin, end) that are `wanted`.
template <class Wanted, class Visit>
void each_run(std::size_t begin, std::size_t end, const Wanted& wanted, const Visit& visit) {
  for (std::size_t i = begin; i < end; ++i) {
    if (!wanted(i)) continue;
    const std::size_t from = i;
    while (++i < end && wanted(i)) {
    }
    visit(from, i);
  }
}

}  // namespace

LogitMaximum LogitRow::maximum() const { return scan_maximum(peaks.empty() ? logits : peaks); }

std::size_t LogitRow::find_maximum(float max) const {
  if (peaks.empty()) return find_first(logits, max);
  const std::size_t begin = find_first(peaks, max) * kPeakBlock;
  return begin + find_first(logits.subspan(begin), max);
}

std::size_t LogitRow::collect(std::size_t begin, std::size_t end, float low, float high,
                              Candidate* out) const {
  const auto sweep = [&](std::size_t from, std::size_t to, Candidate* at) {
    return model::collect(logits.subspan(from, to - from), low, high, static_cast<TokenId>(from),
                          at);
  };
  if (peaks.empty()) return sweep(begin, end, out);
  std::size_t n = 0;
  each_run(
      begin / kPeakBlock, peak_blocks(end), [&](std::size_t b) { return peaks[b] >= low; },
      [&](std::size_t from, std::size_t to) {
        n += sweep(from * kPeakBlock, std::min(to * kPeakBlock, end), out + n);
      });
  return n;
}

void LogitRow::sum_weights(float max, float inverse_temperature, std::span<double> sums) const {
  if (peaks.empty()) return model::sum_weights(logits, max, inverse_temperature, sums);
  // Weights grow with logits, in floats too: where the largest weighs nothing all do.
  const auto weighs = [&](std::size_t b) {
    const auto of_block =
        peaks.subspan(b * kPeaksOfScan, std::min(kPeaksOfScan, peaks.size() - b * kPeaksOfScan));
    return weight_of((*std::ranges::max_element(of_block) - max) * inverse_temperature) > 0;
  };
  std::ranges::fill(sums, 0.0);
  each_run(0, sums.size(), weighs, [&](std::size_t from, std::size_t to) {
    const std::size_t end = std::min(to * kScanBlock, logits.size());
    model::sum_weights(logits.subspan(from * kScanBlock, end - from * kScanBlock), max,
                       inverse_temperature, sums.subspan(from, to - from));
  });
}

}  // namespace weir::model
