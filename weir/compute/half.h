#pragma once

/// Rounding to IEEE binary16, the arena's default type. The way back is in dequantize.h.
/// Thread safety: pure functions.

#include <bit>
#include <cstdint>

namespace weir::compute {

/// To the nearest half, ties to even; overflow to infinity, NaN stays NaN (quietened).
[[nodiscard]] constexpr std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) {
    return static_cast<std::uint16_t>(sign | 0x7E00 | ((magnitude >> 13) & 0x3FF));
  }
  if (magnitude >= 0x477FF000) return sign | 0x7C00;  // 65520 and above round to infinity.
  if (magnitude < 0x33000000) return sign;  // Below 2^-25; 2^-25 itself ties to even, to 0.
  const std::uint32_t exponent = magnitude >> 23;
  // Subnormal halves are multiples of 2^-24: shift the mantissa with its hidden one into place.
  const std::uint32_t shift = exponent < 113 ? 126 - exponent : 13;
  const std::uint32_t mantissa =
      exponent < 113 ? (magnitude & 0x7FFFFF) | 0x800000 : magnitude - (112U << 23);
  const std::uint32_t kept = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1U << shift) - 1);
  const std::uint32_t half = 1U << (shift - 1);
  const bool up = rest > half || (rest == half && (kept & 1) != 0);
  return static_cast<std::uint16_t>(sign | (kept + (up ? 1 : 0)));
}

}  // namespace weir::compute
