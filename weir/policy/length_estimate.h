#pragma once

/// How long answers turn out to be, learnt from those that ended, for admission that counts on less
/// than every request's max_tokens. Quantiles over a decaying histogram with eight buckets to an
/// octave: never too short, and too long by 2^(1/8), 9.1 %, at most. Thread safety: none; one
/// owner.

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::policy {

class LengthEstimate {
 public:
  void observe(std::uint32_t tokens);

  /// The answer length that `quantile` of recent answers did not exceed; at most `max_tokens`,
  /// which is also the answer until answers of weight kEnough (21 of them) were seen.
  [[nodiscard]] std::uint32_t expect(double quantile, std::uint32_t max_tokens) const;

  /// Given that an answer already has `so_far` tokens, the total it will probably reach.
  [[nodiscard]] std::uint32_t expect_beyond(double quantile, std::uint32_t so_far,
                                            std::uint32_t max_tokens) const;

 private:
  static constexpr int kPerOctave = 8;
  static constexpr double kEnough = 20;
  static constexpr double kDecay = 0.998;  ///< Half of the weight lies on the last 350 answers.
  static int bucket(std::uint32_t tokens);
  static std::uint32_t upper(int bucket);
  static constexpr std::size_t kBuckets = 32 * kPerOctave + 1;  ///< The last is for 2^32 - 1.
  /// The weight of the answers in this bucket or a later one; falls. A question is then a binary
  /// search: admission asks one for every running answer.
  std::array<double, kBuckets + 1> tails_{};
};

}  // namespace weir::policy
