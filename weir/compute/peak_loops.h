#pragma once

/// Loops of one instruction and nothing else, in twelve independent chains: the most that a core of
/// this machine computes a second, which is the roof a kernel is compared with. Twelve are enough
/// to hide the latency of every core known (4 cycles x 2 pipes), and with two operands still fit
/// the 16 registers of AVX2.
///
/// Every product is 1 x 1, so that a loop's own sum counts the multiply-adds it did: a loop that
/// the compiler has thinned out is found by its sum. Thread safety: pure functions.

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::compute {

enum class Peak : std::uint8_t {
  kInt8Dot,  ///< What quantised weights multiply with on the kernels' target.
  kBf16Dot,
  kF32Fma,  ///< What plain weights and attention multiply with.
};
inline constexpr int kPeakCount = 3;

struct PeakLoop {
  std::string_view instruction;  ///< "vpdpbusd zmm"
  double operations = 0;         ///< Of one round: multiplications and additions, each counted.
  /// Returns the multiply-adds done, exact up to kCountedRounds.
  double (*spin)(std::uint64_t rounds) = nullptr;
};
inline constexpr std::uint64_t kCountedRounds = 10'000;

/// Nothing where this machine has no such instruction.
[[nodiscard]] std::optional<PeakLoop> peak_loop(Peak peak);

}  // namespace weir::compute
