/// exp, tanh and the gates built on them, with the same bits on every target (libm's differ by
/// version). Polynomials: our own weighted minimax fits; the errors stated are measured by
/// math_test.cc against double over the whole range. Included once per target: per-target include
/// guard, no #pragma once.

#if defined(WEIR_COMPUTE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_COMPUTE_MATH_INL_H_
#undef WEIR_COMPUTE_MATH_INL_H_
#else
#define WEIR_COMPUTE_MATH_INL_H_
#endif

#include "weir/compute/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {

/// e^(x - n ln 2), n the integer nearest x / ln 2.
WEIR_INLINE F32x16 exp_of_fraction(const F32x16& x, const F32x16& n) {
  // ln 2 in two parts; n times the first is exact.
  F32x16 r = fma(n, set(-0.693359375F), x);
  r = fma(n, set(2.12194442e-4F), r);
  F32x16 q = set(1.38144672e-3F);
  q = fma(q, r, set(8.36878084e-3F));
  q = fma(q, r, set(4.16683927e-2F));
  q = fma(q, r, set(1.66665196e-1F));
  q = fma(q, r, set(0.49999994F));
  return add(fma(q, mul(r, r), r), set(1.0F));
}

/// e^x to 1.0 ulp; 0 below -104, infinity above 88.73, NaN for NaN.
WEIR_INLINE F32x16 exp(const F32x16& x) {
  // e^x = 2^n e^r with n the integer nearest x / ln 2 and |r| <= ln 2 / 2. Beyond +-104 the result
  // is 0 or infinity all the same.
  const F32x16 limit = set(104.0F);
  const F32x16 minus_limit = set(-104.0F);
  const F32x16 below = select_less(limit, x, limit, x);
  const F32x16 c = select_less(below, minus_limit, minus_limit, below);
  const F32x16 rounder = set(12582912.0F);  // 1.5 x 2^23: leaves the integer in the low bits.
  const F32x16 shifted_up = fma(c, set(1.44269504F), rounder);
  const F32x16 n = sub(shifted_up, rounder);
  const F32x16 p = exp_of_fraction(c, n);
  // 2^n in two factors, since n may leave the exponent's range on the way to 0 or infinity.
  const I32x16 whole = sub(bits_of(shifted_up), bits_of(rounder));
  const I32x16 half = shift_right<1>(whole);
  const I32x16 bias = set(127);
  const F32x16 a = from_bits(shift_left<23>(add(half, bias)));
  const F32x16 b = from_bits(shift_left<23>(add(sub(whole, half), bias)));
  return mul(mul(p, a), b);
}

/// e^x for x <= 0, as a softmax asks it, to 1.0 ulp; exactly 0 below -87.7, NaN for NaN. Tiny x > 0
/// are taken.
WEIR_INLINE F32x16 exp_of_negative(const F32x16& x) {
  // As exp(), but 2^n is one factor: its exponent field n + 127 is left in the low bits, and 0
  // there makes it 0.
  const F32x16 least = set(-88.0F);
  const F32x16 c = select_less(x, least, least, x);
  const F32x16 rounder = set(12582912.0F + 127.0F);
  const F32x16 shifted_up = fma(c, set(1.44269504F), rounder);
  const F32x16 n = sub(shifted_up, rounder);
  const F32x16 power = from_bits(shift_left<23>(bits_of(shifted_up)));
  return mul(exp_of_fraction(c, n), power);
}

/// x / (1 + e^-x)
WEIR_INLINE F32x16 silu(const F32x16& x) {
  const F32x16 one = set(1.0F);
  return div(x, add(one, exp(sub(set(0.0F), x))));
}

/// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) = x / (1 + e^(-2 u)), u the argument of tanh.
WEIR_INLINE F32x16 gelu_tanh(const F32x16& x) {
  const F32x16 one = set(1.0F);
  const F32x16 minus_two_u = mul(x, fma(mul(x, x), set(-0.0713548163F), set(-1.59576912F)));
  return div(x, add(one, exp(minus_two_u)));
}

/// tanh x to 2 ulp.
WEIR_INLINE F32x16 tanh(const F32x16& x) {
  const F32x16 a = abs(x);
  const F32x16 one = set(1.0F);
  // Small: an odd polynomial keeps the relative error; large: 1 - 2 / (e^2a + 1).
  const F32x16 z = mul(a, a);
  F32x16 q = set(-5.59101580e-3F);
  q = fma(q, z, set(2.05388200e-2F));
  q = fma(q, z, set(-5.37096560e-2F));
  q = fma(q, z, set(1.33310929e-1F));
  q = fma(q, z, set(-3.33332688e-1F));
  const F32x16 small = fma(mul(a, z), q, a);
  const F32x16 large = sub(one, div(set(2.0F), add(exp(add(a, a)), one)));
  const F32x16 magnitude = select_less(a, set(0.625F), small, large);
  const I32x16 sign = bit_and(bits_of(x), set(static_cast<std::int32_t>(0x80000000U)));
  return from_bits(bit_or(bits_of(magnitude), sign));
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
