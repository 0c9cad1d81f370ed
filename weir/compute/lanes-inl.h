/// Sixteen floats, sixteen 32-bit integers and sixty-four bytes, on every target: the vocabulary
/// the kernels are written in, once. Lane i of a panel is output row i, so nothing here shuffles
/// lanes.
///
/// Two implementations: Highway vectors for AVX2, AVX-512 and NEON (one, two or four of them side
/// by side), and plain arrays for every other target. The arrays are the scalar twin: std::fma, the
/// same order, hence the same bits. All operations are exact or correctly rounded by IEEE 754, so
/// equal source means equal bits; max and select_less are spelled out for NaN. Included once per
/// target (foreach_target): per-target include guard, no #pragma once.

#if defined(WEIR_COMPUTE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_COMPUTE_LANES_INL_H_
#undef WEIR_COMPUTE_LANES_INL_H_
#else
#define WEIR_COMPUTE_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "weir/compute/half.h"

#undef WEIR_SIMD
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || \
    (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)
#define WEIR_SIMD 1
#else
#define WEIR_SIMD 0
#endif

// Loops over a tile's rows must vanish, since their arrays are registers. The twin stays small.
#undef WEIR_UNROLL
#undef WEIR_KEEP_LOOP
#undef WEIR_INLINE
#if !WEIR_SIMD
#define WEIR_INLINE inline
#define WEIR_UNROLL
#define WEIR_KEEP_LOOP
#elif defined(__clang__)
#define WEIR_INLINE HWY_INLINE
#define WEIR_UNROLL _Pragma("clang loop unroll(full)")
#define WEIR_KEEP_LOOP _Pragma("clang loop unroll(disable)")
#else
#define WEIR_INLINE HWY_INLINE
#define WEIR_UNROLL _Pragma("GCC unroll 16")
#define WEIR_KEEP_LOOP _Pragma("GCC unroll 1")
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int kLanes = 16;

#if WEIR_SIMD

/// N vectors side by side, as a tree so that no loop stands between the compiler and its registers.
template <class V, int N>
struct Wide {
  Wide<V, N / 2> lo, hi;
};
template <class V>
struct Wide<V, 1> {
  V v;
};

using DF = hn::CappedTag<float, kLanes>;
using DI = hn::CappedTag<std::int32_t, kLanes>;
using DU = hn::CappedTag<std::uint32_t, kLanes>;
using DB = hn::Repartition<std::uint8_t, DF>;
inline constexpr int kVector = static_cast<int>(hn::MaxLanes(DF()));
inline constexpr int kParts = kLanes / kVector;
using F32x16 = Wide<hn::Vec<DF>, kParts>;
using I32x16 = Wide<hn::Vec<DI>, kParts>;
using U8x64 = Wide<hn::Vec<DB>, kParts>;

#define WEIR_LANES_1(name, op)                       \
  template <class V, int N>                          \
  WEIR_INLINE Wide<V, N> name(const Wide<V, N>& a) { \
    if constexpr (N == 1) {                          \
      return {op(a.v)};                              \
    } else {                                         \
      return {name(a.lo), name(a.hi)};               \
    }                                                \
  }
#define WEIR_LANES_2(name, op)                                            \
  template <class V, int N>                                               \
  WEIR_INLINE Wide<V, N> name(const Wide<V, N>& a, const Wide<V, N>& b) { \
    if constexpr (N == 1) {                                               \
      return {op(a.v, b.v)};                                              \
    } else {                                                              \
      return {name(a.lo, b.lo), name(a.hi, b.hi)};                        \
    }                                                                     \
  }
#define WEIR_LANES_3(name, op)                                                                 \
  template <class V, int N>                                                                    \
  WEIR_INLINE Wide<V, N> name(const Wide<V, N>& a, const Wide<V, N>& b, const Wide<V, N>& c) { \
    if constexpr (N == 1) {                                                                    \
      return {op(a.v, b.v, c.v)};                                                              \
    } else {                                                                                   \
      return {name(a.lo, b.lo, c.lo), name(a.hi, b.hi, c.hi)};                                 \
    }                                                                                          \
  }
WEIR_LANES_2(add, hn::Add)
WEIR_LANES_2(sub, hn::Sub)
WEIR_LANES_2(mul, hn::Mul)
WEIR_LANES_2(div, hn::Div)
WEIR_LANES_2(bit_and, hn::And)
WEIR_LANES_2(bit_or, hn::Or)
WEIR_LANES_2(bit_xor, hn::Xor)
WEIR_LANES_1(abs, hn::Abs)
WEIR_LANES_3(fma, hn::MulAdd)      ///< a * b + c, rounded once.
WEIR_LANES_3(fma_sub, hn::MulSub)  ///< a * b - c, rounded once.
#undef WEIR_LANES_1
#undef WEIR_LANES_2
#undef WEIR_LANES_3

/// a < b ? yes : no; a comparison with NaN is false.
template <class V, int N>
WEIR_INLINE Wide<V, N> select_less(const Wide<V, N>& a, const Wide<V, N>& b, const Wide<V, N>& yes,
                                   const Wide<V, N>& no) {
  if constexpr (N == 1) {
    return {hn::IfThenElse(hn::Lt(a.v, b.v), yes.v, no.v)};
  } else {
    return {select_less(a.lo, b.lo, yes.lo, no.lo), select_less(a.hi, b.hi, yes.hi, no.hi)};
  }
}

template <class W, class D>
WEIR_INLINE W set_wide(D d, hn::TFromD<D> x) {
  if constexpr (requires(W w) { w.v; }) {
    return {hn::Set(d, x)};
  } else {
    return {set_wide<decltype(W::lo)>(d, x), set_wide<decltype(W::hi)>(d, x)};
  }
}
WEIR_INLINE F32x16 set(float x) { return set_wide<F32x16>(DF(), x); }
WEIR_INLINE I32x16 set(std::int32_t x) { return set_wide<I32x16>(DI(), x); }
WEIR_INLINE U8x64 set_bytes(std::uint8_t x) { return set_wide<U8x64>(DB(), x); }

template <class W, class D>
WEIR_INLINE W load_wide(D d, const hn::TFromD<D>* p) {
  if constexpr (requires(W w) { w.v; }) {
    return {hn::LoadU(d, p)};
  } else {
    constexpr int half = sizeof(decltype(W::lo)) / sizeof(hn::TFromD<D>);
    return {load_wide<decltype(W::lo)>(d, p), load_wide<decltype(W::hi)>(d, p + half)};
  }
}
WEIR_INLINE F32x16 load(const float* p) { return load_wide<F32x16>(DF(), p); }
WEIR_INLINE I32x16 load(const std::int32_t* p) { return load_wide<I32x16>(DI(), p); }
WEIR_INLINE U8x64 load_bytes(const std::uint8_t* p) { return load_wide<U8x64>(DB(), p); }

template <class V, int N, class D>
WEIR_INLINE void store_wide(const Wide<V, N>& a, D d, hn::TFromD<D>* p) {
  if constexpr (N == 1) {
    hn::StoreU(a.v, d, p);
  } else {
    store_wide(a.lo, d, p);
    store_wide(a.hi, d, p + N / 2 * hn::MaxLanes(d));
  }
}
WEIR_INLINE void store(const F32x16& a, float* p) { store_wide(a, DF(), p); }
WEIR_INLINE void store(const I32x16& a, std::int32_t* p) { store_wide(a, DI(), p); }
WEIR_INLINE void store(const U8x64& a, std::uint8_t* p) { store_wide(a, DB(), p); }

/// From sixteen narrow values: f16 and bf16 bits, bytes. Exact.
template <class W, class From>
WEIR_INLINE W promote(const From* p) {
  if constexpr (requires(W w) { w.v; }) {
    const hn::Rebind<From, DF> narrow;
    using To = std::conditional_t<hwy::IsFloat<From>() || sizeof(From) == 2, DF, DI>;
    return {hn::PromoteTo(To(), hn::LoadU(narrow, p))};
  } else {
    constexpr int half = sizeof(decltype(W::lo)) / 4;
    return {promote<decltype(W::lo)>(p), promote<decltype(W::hi)>(p + half)};
  }
}
WEIR_INLINE F32x16 load_f16(const std::uint16_t* p) {
  return promote<F32x16>(reinterpret_cast<const hwy::float16_t*>(p));
}
WEIR_INLINE F32x16 load_bf16(const std::uint16_t* p) {
  return promote<F32x16>(reinterpret_cast<const hwy::bfloat16_t*>(p));
}
WEIR_INLINE I32x16 load_u8(const std::uint8_t* p) { return promote<I32x16>(p); }
WEIR_INLINE I32x16 load_s8(const std::int8_t* p) { return promote<I32x16>(p); }

template <class V, int N>
WEIR_INLINE void demote_f16(const Wide<V, N>& a, hwy::float16_t* p) {
  if constexpr (N == 1) {
    const hn::Rebind<hwy::float16_t, DF> half;
    hn::StoreU(hn::DemoteTo(half, a.v), half, p);
  } else {
    demote_f16(a.lo, p);
    demote_f16(a.hi, p + N / 2 * kVector);
  }
}
/// To nearest, ties to even.
WEIR_INLINE void store_f16(const F32x16& a, std::uint16_t* p) {
  demote_f16(a, reinterpret_cast<hwy::float16_t*>(p));
}

template <class V, int N>
WEIR_INLINE auto to_f32_wide(const Wide<V, N>& a) {
  if constexpr (N == 1) {
    return Wide<hn::Vec<DF>, 1>{hn::ConvertTo(DF(), a.v)};
  } else {
    return Wide<hn::Vec<DF>, N>{to_f32_wide(a.lo), to_f32_wide(a.hi)};
  }
}
/// Exact below 2^24, else rounded to nearest even.
WEIR_INLINE F32x16 to_f32(const I32x16& a) { return to_f32_wide(a); }

template <class To, class V, int N>
WEIR_INLINE auto cast_wide(const Wide<V, N>& a) {
  if constexpr (N == 1) {
    return Wide<hn::Vec<To>, 1>{hn::BitCast(To(), a.v)};
  } else {
    return Wide<hn::Vec<To>, N>{cast_wide<To>(a.lo), cast_wide<To>(a.hi)};
  }
}
WEIR_INLINE I32x16 bits_of(const F32x16& a) { return cast_wide<DI>(a); }
WEIR_INLINE F32x16 from_bits(const I32x16& a) { return cast_wide<DF>(a); }

template <int kBits, class V, int N>
WEIR_INLINE Wide<V, N> shift_left(const Wide<V, N>& a) {
  if constexpr (N == 1) {
    return {hn::ShiftLeft<kBits>(a.v)};
  } else {
    return {shift_left<kBits>(a.lo), shift_left<kBits>(a.hi)};
  }
}
/// Arithmetic.
template <int kBits, class V, int N>
WEIR_INLINE Wide<V, N> shift_right(const Wide<V, N>& a) {
  if constexpr (N == 1) {
    return {hn::ShiftRight<kBits>(a.v)};
  } else {
    return {shift_right<kBits>(a.lo), shift_right<kBits>(a.hi)};
  }
}

template <int kShift, class V, int N>
WEIR_INLINE Wide<V, N> shift_bytes_wide(const Wide<V, N>& a) {
  if constexpr (N == 1) {
    const hn::Repartition<std::uint16_t, DB> d16;
    if constexpr (kShift >= 0) {
      return {hn::BitCast(DB(), hn::ShiftLeft<(kShift >= 0 ? kShift : 0)>(hn::BitCast(d16, a.v)))};
    } else {
      return {hn::BitCast(DB(), hn::ShiftRight<(kShift < 0 ? -kShift : 0)>(hn::BitCast(d16, a.v)))};
    }
  } else {
    return {shift_bytes_wide<kShift>(a.lo), shift_bytes_wide<kShift>(a.hi)};
  }
}
/// Bytes shifted left by kShift (right when negative) and masked. REQUIRES: `mask` drops the bits a
/// neighbour byte may have shifted in.
template <int kShift>
WEIR_INLINE U8x64 shifted(const U8x64& a, std::uint8_t mask) {
  if constexpr (kShift == 0) {
    return bit_and(a, set_bytes(mask));
  } else {
    return bit_and(shift_bytes_wide<kShift>(a), set_bytes(mask));
  }
}

template <class V, int N>
WEIR_INLINE Wide<V, N> lookup_wide(const V& table, const Wide<V, N>& a) {
  if constexpr (N == 1) {
    return {hn::TableLookupBytes(table, a.v)};
  } else {
    return {lookup_wide(table, a.lo), lookup_wide(table, a.hi)};
  }
}
/// table[a] byte by byte. REQUIRES: every byte of `a` < 16.
WEIR_INLINE U8x64 lookup(const std::uint8_t* table, const U8x64& a) {
  return lookup_wide(hn::LoadDup128(DB(), table), a);
}

// Lanes i and i + 8, then i and i + 4.
template <class V>
WEIR_INLINE auto sum_quarters(const Wide<V, 2>& a) {
  const hn::CappedTag<float, 4> d4;
  const V v8 = hn::Add(a.lo.v, a.hi.v);
  return hn::Add(hn::LowerHalf(d4, v8), hn::UpperHalf(d4, v8));
}
template <class V>
WEIR_INLINE auto sum_quarters(const Wide<V, 1>& a) {
  const hn::Half<hn::DFromV<V>> d8;
  return sum_quarters(
      Wide<hn::Vec<decltype(d8)>, 2>{{hn::LowerHalf(d8, a.v)}, {hn::UpperHalf(d8, a.v)}});
}
template <class V>
WEIR_INLINE V sum_quarters(const Wide<V, 4>& a) {
  return hn::Add(hn::Add(a.lo.lo.v, a.hi.lo.v), hn::Add(a.lo.hi.v, a.hi.hi.v));
}
/// Lanes i and i + 8 first, then 4, 2, 1: the one order of every reduction over lanes.
WEIR_INLINE float sum_lanes(const F32x16& a) {
  const hn::CappedTag<float, 4> d4;
  alignas(16) float x[4];
  hn::Store(sum_quarters(a), d4, x);
  return (x[0] + x[2]) + (x[1] + x[3]);
}

template <class V, int N>
WEIR_INLINE void load_pairs_wide(const float* p, Wide<V, N>& even, Wide<V, N>& odd) {
  if constexpr (N == 1) {
    hn::LoadInterleaved2(DF(), p, even.v, odd.v);
  } else {
    load_pairs_wide(p, even.lo, odd.lo);
    load_pairs_wide(p + N * kVector, even.hi, odd.hi);
  }
}
template <class V, int N>
WEIR_INLINE void store_pairs_wide(const Wide<V, N>& even, const Wide<V, N>& odd, float* p) {
  if constexpr (N == 1) {
    hn::StoreInterleaved2(even.v, odd.v, DF(), p);
  } else {
    store_pairs_wide(even.lo, odd.lo, p);
    store_pairs_wide(even.hi, odd.hi, p + N * kVector);
  }
}
/// Thirty-two floats: those at even and those at odd places.
WEIR_INLINE void load_pairs(const float* p, F32x16& even, F32x16& odd) {
  load_pairs_wide(p, even, odd);
}
WEIR_INLINE void store_pairs(const F32x16& even, const F32x16& odd, float* p) {
  store_pairs_wide(even, odd, p);
}

template <class V>
WEIR_INLINE V folded_sum(const Wide<V, 1>& a) {
  return a.v;
}
template <class V, int N>
WEIR_INLINE V folded_sum(const Wide<V, N>& a) {
  return hn::Add(folded_sum(a.lo), folded_sum(a.hi));
}
template <class V>
WEIR_INLINE V folded_max(const Wide<V, 1>& a) {
  return a.v;
}
template <class V, int N>
WEIR_INLINE V folded_max(const Wide<V, N>& a) {
  return hn::Max(folded_max(a.lo), folded_max(a.hi));
}
/// Exact, so that its order does not matter. REQUIRES: the sum fits.
WEIR_INLINE std::int32_t sum_lanes(const I32x16& a) {
  return hn::GetLane(hn::SumOfLanes(DI(), folded_sum(a)));
}
/// REQUIRES: no NaN.
WEIR_INLINE float largest_lane(const F32x16& a) {
  return hn::GetLane(hn::MaxOfLanes(DF(), folded_max(a)));
}

template <class V, int N>
WEIR_INLINE void store_s8_wide(const Wide<V, N>& a, std::int8_t* p) {
  if constexpr (N == 1) {
    const hn::Rebind<std::int8_t, DI> narrow;
    hn::StoreU(hn::DemoteTo(narrow, a.v), narrow, p);
  } else {
    store_s8_wide(a.lo, p);
    store_s8_wide(a.hi, p + N / 2 * kVector);
  }
}
/// REQUIRES: every lane within [-128, 127].
WEIR_INLINE void store_s8(const I32x16& a, std::int8_t* p) { store_s8_wide(a, p); }

template <class V, int N>
WEIR_INLINE void store_u16_wide(const Wide<V, N>& a, std::uint16_t* p) {
  if constexpr (N == 1) {
    const hn::Rebind<std::uint16_t, DI> narrow;
    hn::StoreU(hn::DemoteTo(narrow, a.v), narrow, p);
  } else {
    store_u16_wide(a.lo, p);
    store_u16_wide(a.hi, p + N / 2 * kVector);
  }
}
/// REQUIRES: every lane within [0, 65535].
WEIR_INLINE void store_u16(const I32x16& a, std::uint16_t* p) { store_u16_wide(a, p); }

#else  // The scalar twin.

struct F32x16 {
  float v[kLanes];
};
struct I32x16 {
  std::int32_t v[kLanes];
};
struct U8x64 {
  std::uint8_t v[64];
};

#define WEIR_LANES_2(name, type, count, expression)          \
  WEIR_INLINE type name(const type& a, const type& b) {      \
    type r;                                                  \
    for (int i = 0; i < (count); ++i) r.v[i] = (expression); \
    return r;                                                \
  }
WEIR_LANES_2(add, F32x16, kLanes, a.v[i] + b.v[i])
WEIR_LANES_2(sub, F32x16, kLanes, a.v[i] - b.v[i])
WEIR_LANES_2(mul, F32x16, kLanes, a.v[i] * b.v[i])
WEIR_LANES_2(div, F32x16, kLanes, a.v[i] / b.v[i])
// Wraps, as vectors do.
WEIR_LANES_2(add, I32x16, kLanes,
             static_cast<std::int32_t>(static_cast<std::uint32_t>(a.v[i]) +
                                       static_cast<std::uint32_t>(b.v[i])))
WEIR_LANES_2(sub, I32x16, kLanes,
             static_cast<std::int32_t>(static_cast<std::uint32_t>(a.v[i]) -
                                       static_cast<std::uint32_t>(b.v[i])))
WEIR_LANES_2(bit_and, I32x16, kLanes, a.v[i] & b.v[i])
WEIR_LANES_2(bit_or, I32x16, kLanes, a.v[i] | b.v[i])
WEIR_LANES_2(bit_xor, I32x16, kLanes, a.v[i] ^ b.v[i])
WEIR_LANES_2(bit_and, U8x64, 64, a.v[i] & b.v[i])
WEIR_LANES_2(bit_or, U8x64, 64, a.v[i] | b.v[i])
WEIR_LANES_2(bit_xor, U8x64, 64, a.v[i] ^ b.v[i])
#undef WEIR_LANES_2

WEIR_INLINE F32x16 abs(const F32x16& a) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = std::fabs(a.v[i]);
  return r;
}
/// a * b + c, rounded once.
WEIR_INLINE F32x16 fma(const F32x16& a, const F32x16& b, const F32x16& c) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = std::fma(a.v[i], b.v[i], c.v[i]);
  return r;
}
/// a * b - c, rounded once.
WEIR_INLINE F32x16 fma_sub(const F32x16& a, const F32x16& b, const F32x16& c) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = std::fma(a.v[i], b.v[i], -c.v[i]);
  return r;
}
/// a < b ? yes : no; a comparison with NaN is false.
WEIR_INLINE F32x16 select_less(const F32x16& a, const F32x16& b, const F32x16& yes,
                               const F32x16& no) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = a.v[i] < b.v[i] ? yes.v[i] : no.v[i];
  return r;
}

WEIR_INLINE F32x16 set(float x) {
  F32x16 r;
  for (float& y : r.v) y = x;
  return r;
}
WEIR_INLINE I32x16 set(std::int32_t x) {
  I32x16 r;
  for (std::int32_t& y : r.v) y = x;
  return r;
}
WEIR_INLINE U8x64 set_bytes(std::uint8_t x) {
  U8x64 r;
  for (std::uint8_t& y : r.v) y = x;
  return r;
}

template <class W>
WEIR_INLINE W load_array(const void* p) {
  W r;
  std::memcpy(r.v, p, sizeof r.v);
  return r;
}
WEIR_INLINE F32x16 load(const float* p) { return load_array<F32x16>(p); }
WEIR_INLINE I32x16 load(const std::int32_t* p) { return load_array<I32x16>(p); }
WEIR_INLINE U8x64 load_bytes(const std::uint8_t* p) { return load_array<U8x64>(p); }
WEIR_INLINE void store(const F32x16& a, float* p) { std::memcpy(p, a.v, sizeof a.v); }
WEIR_INLINE void store(const I32x16& a, std::int32_t* p) { std::memcpy(p, a.v, sizeof a.v); }
WEIR_INLINE void store(const U8x64& a, std::uint8_t* p) { std::memcpy(p, a.v, sizeof a.v); }

/// From sixteen narrow values: f16 and bf16 bits, bytes. Exact.
WEIR_INLINE F32x16 load_f16(const std::uint16_t* p) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) {
    // The exponent is re-biased by a multiplication, which normalises subnormals as well;
    // infinities and NaNs keep their mantissa under the widest exponent.
    const std::uint32_t magnitude = p[i] & 0x7FFFU;
    const std::uint32_t sign = (p[i] & 0x8000U) << 16;
    const std::uint32_t bits =
        magnitude >= 0x7C00
            ? 0x7F800000 | (magnitude & 0x3FF) << 13 | (magnitude > 0x7C00 ? 0x400000U : 0)
            : std::bit_cast<std::uint32_t>(static_cast<float>(magnitude < 0x400 ? magnitude : 0) *
                                           0x1p-24F) |
                  (magnitude < 0x400 ? 0 : (magnitude << 13) + (112U << 23));
    r.v[i] = std::bit_cast<float>(sign | bits);
  }
  return r;
}
WEIR_INLINE F32x16 load_bf16(const std::uint16_t* p) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i)
    r.v[i] = std::bit_cast<float>(static_cast<std::uint32_t>(p[i]) << 16);
  return r;
}
WEIR_INLINE I32x16 load_u8(const std::uint8_t* p) {
  I32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = p[i];
  return r;
}
WEIR_INLINE I32x16 load_s8(const std::int8_t* p) {
  I32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = p[i];
  return r;
}
/// To nearest, ties to even.
WEIR_INLINE void store_f16(const F32x16& a, std::uint16_t* p) {
  for (int i = 0; i < kLanes; ++i) p[i] = f32_to_f16(a.v[i]);
}

/// Exact below 2^24, else rounded to nearest even.
WEIR_INLINE F32x16 to_f32(const I32x16& a) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = static_cast<float>(a.v[i]);
  return r;
}
WEIR_INLINE I32x16 bits_of(const F32x16& a) { return std::bit_cast<I32x16>(a); }
WEIR_INLINE F32x16 from_bits(const I32x16& a) { return std::bit_cast<F32x16>(a); }

template <int kBits>
WEIR_INLINE I32x16 shift_left(const I32x16& a) {
  I32x16 r;
  for (int i = 0; i < kLanes; ++i) {
    r.v[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(a.v[i]) << kBits);
  }
  return r;
}
/// Arithmetic.
template <int kBits>
WEIR_INLINE I32x16 shift_right(const I32x16& a) {
  I32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = a.v[i] >> kBits;
  return r;
}
/// Bytes shifted left by kShift (right when negative) and masked. REQUIRES: `mask` drops the bits a
/// neighbour byte may have shifted in.
template <int kShift>
WEIR_INLINE U8x64 shifted(const U8x64& a, std::uint8_t mask) {
  U8x64 r;
  for (int i = 0; i < 64; ++i) {
    const unsigned moved = kShift >= 0
                               ? static_cast<unsigned>(a.v[i]) << (kShift >= 0 ? kShift : 0)
                               : static_cast<unsigned>(a.v[i]) >> (kShift < 0 ? -kShift : 0);
    r.v[i] = static_cast<std::uint8_t>(moved & mask);
  }
  return r;
}
/// table[a] byte by byte. REQUIRES: every byte of `a` < 16.
WEIR_INLINE U8x64 lookup(const std::uint8_t* table, const U8x64& a) {
  U8x64 r;
  for (int i = 0; i < 64; ++i) r.v[i] = table[a.v[i]];
  return r;
}
/// Lanes i and i + 8 first, then 4, 2, 1: the one order of every reduction over lanes.
WEIR_INLINE float sum_lanes(const F32x16& a) {
  float x[kLanes];
  std::memcpy(x, a.v, sizeof x);
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) x[i] += x[i + width];
  }
  return x[0];
}
/// Thirty-two floats: those at even and those at odd places.
WEIR_INLINE void load_pairs(const float* p, F32x16& even, F32x16& odd) {
  for (int i = 0; i < kLanes; ++i) {
    even.v[i] = p[2 * i];
    odd.v[i] = p[2 * i + 1];
  }
}
WEIR_INLINE void store_pairs(const F32x16& even, const F32x16& odd, float* p) {
  for (int i = 0; i < kLanes; ++i) {
    p[2 * i] = even.v[i];
    p[2 * i + 1] = odd.v[i];
  }
}
/// Exact, so that its order does not matter. REQUIRES: the sum fits.
WEIR_INLINE std::int32_t sum_lanes(const I32x16& a) {
  std::int32_t sum = 0;
  for (const std::int32_t x : a.v) sum += x;
  return sum;
}
/// REQUIRES: no NaN.
WEIR_INLINE float largest_lane(const F32x16& a) {
  float largest = a.v[0];
  for (const float x : a.v) largest = x > largest ? x : largest;
  return largest;
}
/// REQUIRES: every lane within [-128, 127].
WEIR_INLINE void store_s8(const I32x16& a, std::int8_t* p) {
  for (int i = 0; i < kLanes; ++i) p[i] = static_cast<std::int8_t>(a.v[i]);
}
/// REQUIRES: every lane within [0, 65535].
WEIR_INLINE void store_u16(const I32x16& a, std::uint16_t* p) {
  for (int i = 0; i < kLanes; ++i) p[i] = static_cast<std::uint16_t>(a.v[i]);
}

#endif  // WEIR_SIMD

/// The larger; b where either is NaN, as MAXPS has it.
WEIR_INLINE F32x16 max(const F32x16& a, const F32x16& b) { return select_less(b, a, a, b); }

/// The largest lane; NaN lanes lose unless all are NaN. Order does not matter but for NaN, so it is
/// fixed.
WEIR_INLINE float max_lanes(const F32x16& a) {
  float x[kLanes];
  store(a, x);
  float m = x[0];
  for (int i = 1; i < kLanes; ++i) m = x[i] > m || m != m ? x[i] : m;
  return m;
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
