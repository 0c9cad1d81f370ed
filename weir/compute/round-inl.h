/// Rounding to the narrow types that the KV cache and its kernels use, with the same bits on every
/// target. Included once per target: per-target include guard, no #pragma once.

#if defined(WEIR_COMPUTE_ROUND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_COMPUTE_ROUND_INL_H_
#undef WEIR_COMPUTE_ROUND_INL_H_
#else
#define WEIR_COMPUTE_ROUND_INL_H_
#endif

#include <limits>

#include "weir/compute/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {

/// The nearest integer, ties to even. REQUIRES: |x| < 2^22. What is not finite gives some integer.
WEIR_INLINE I32x16 round_to_int(const F32x16& x) {
  const F32x16 rounder = set(12582912.0F);  // 1.5 x 2^23: leaves the integer in the low bits.
  return sub(bits_of(add(x, rounder)), bits_of(rounder));
}

/// The bits of x, whose upper half is the nearest bf16, ties to even. REQUIRES: x is finite.
WEIR_INLINE I32x16 rounded_up_to_bf16(const F32x16& x) {
  const I32x16 bits = bits_of(x);
  const I32x16 odd = bit_and(shift_right<16>(bits), set(1));
  return add(add(bits, odd), set(0x7FFF));
}

/// The nearest float whose lower 16 bits are zero, ties to even; infinity stays, NaN stays NaN.
WEIR_INLINE F32x16 round_to_bf16(const F32x16& x) {
  const F32x16 rounded = from_bits(bit_and(rounded_up_to_bf16(x), set(-0x10000)));
  // x + x keeps an infinity and quietens a NaN, whose payload may lie in the bits that go.
  const F32x16 infinity = set(std::numeric_limits<float>::infinity());
  const F32x16 special = from_bits(bit_and(bits_of(add(x, x)), set(-0x10000)));
  return select_less(abs(x), infinity, rounded, special);
}

/// The upper 16 bits of each lane.
WEIR_INLINE void store_upper_halves(const I32x16& a, std::uint16_t* p) {
  store_u16(bit_and(shift_right<16>(a), set(0xFFFF)), p);
}
/// The lowest byte of each lane.
WEIR_INLINE void store_low_bytes(const I32x16& a, std::uint8_t* p) {
  store_s8(shift_right<24>(shift_left<24>(a)), reinterpret_cast<std::int8_t*>(p));
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
