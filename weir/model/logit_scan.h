#pragma once

/// The passes over a vocabulary of logits that sampling is made of. Each is one linear sweep,
/// vector code chosen at run time; sums use the same 32 partial sums and the same operations in the
/// same order on every target, so a seed reproduces across machines. Thread safety: pure functions
/// over the caller's memory.

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/ids.h"
#include "weir/base/math.h"

namespace weir::model {

/// One token that may still be chosen. `weight` is its unnormalised probability exp(x) with
/// x = (logit - max) / temperature <= 0; `key` orders candidates, best first, ties to the lower id.
struct Candidate {
  float key = 0.0F;
  float weight = 0.0F;
  float x = 0.0F;
  TokenId token = 0;
};

struct LogitMaximum {
  float value = 0.0F;
  bool has_nan = false;
};
[[nodiscard]] LogitMaximum scan_maximum(std::span<const float> logits);

/// Of so many logits the largest are known: small enough that few of a row's blocks hold one of its
/// best tokens, large enough that looking through the blocks costs nothing beside the tokens.
inline constexpr std::size_t kPeakBlock = 256;
[[nodiscard]] constexpr std::size_t peak_blocks(std::size_t vocabulary) {
  return ceil_div(vocabulary, kPeakBlock);
}
/// The largest of each block of kPeakBlock logits; NaN where one is NaN.
/// REQUIRES: peaks.size() == peak_blocks(logits.size()).
void find_peaks(std::span<const float> logits, std::span<float> peaks);

/// The first token whose logit equals `value`; logits.size() if none does.
[[nodiscard]] std::size_t find_first(std::span<const float> logits, float value);

inline constexpr std::size_t kScanBlock = 1024;

/// sums[b] = sum of exp((logit - max) * inverse_temperature) over block b of kScanBlock tokens.
/// REQUIRES: no NaN, max is the maximum and finite, sums.size() == ceil(logits.size() /
/// kScanBlock).
void sum_weights(std::span<const float> logits, float max, float inverse_temperature,
                 std::span<double> sums);

/// The same, and the sum over all tokens of weight * x, from which the entropy follows.
[[nodiscard]] double sum_weights_and_moment(std::span<const float> logits, float max,
                                            float inverse_temperature, std::span<double> sums);

/// Appends at `out` the tokens with low <= logit <= high, as `x` = the raw logit and `token` =
/// first + index, in order. Returns how many.
std::size_t collect(std::span<const float> logits, float low, float high, TokenId first,
                    Candidate* out);

/// exp(x) for x <= 0 exactly as the sweeps above compute it: 0 below -87.3, relative error below
/// 2e-7.
[[nodiscard]] float weight_of(float x);

}  // namespace weir::model
