#pragma once

/// Integer arithmetic that says when it overflows. Every product of numbers read from outside goes
/// through checked_mul or checked_add.

#include <concepts>
#include <cstdint>
#include <optional>

namespace weir {

template <std::unsigned_integral T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

template <std::unsigned_integral T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

/// REQUIRES: divisor > 0.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T ceil_div(T value, T divisor) {
  return static_cast<T>(value / divisor + (value % divisor != 0));
}

/// REQUIRES: multiple > 0 and the result fits T.
template <std::unsigned_integral T>
[[nodiscard]] constexpr T round_up(T value, T multiple) {
  return static_cast<T>(ceil_div(value, multiple) * multiple);
}

}  // namespace weir
