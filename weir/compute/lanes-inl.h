/// Sixteen floats, sixteen 32-bit integers and sixty-four bytes, on every target: the vocabulary
/// the kernels are written in, once. Lane i of a panel is output row i, so nothing here shuffles
/// lanes.
///
/// Two implementations: Highway vectors for AVX2, AVX-512 and NEON (one, two or four of them side
/// by side), and plain arrays for every other target (lanes_scalar-inl.h), the scalar twin:
/// std::fma, the same order, hence the same bits. All operations are exact or correctly rounded by
/// IEEE 754, so equal source means equal bits; max and select_less are spelled out for NaN.
/// Included once per target (foreach_target): per-target include guard, no #pragma once.

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
#include <limits>

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

#if HWY_TARGET != HWY_NEON
/// Vectors as the target's own instructions take them.
using Raw = decltype(hn::Vec<DI>::raw);
template <int N>
WEIR_INLINE Wide<hn::Vec<DI>, N> wide_of(const Raw (&part)[N]) {
  if constexpr (N == 1) {
    return {hn::Vec<DI>{part[0]}};
  } else {
    static_assert(N == 2, "pairs of vectors at most");
    return {{hn::Vec<DI>{part[0]}}, {hn::Vec<DI>{part[1]}}};
  }
}
#endif

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

#else

#include "weir/compute/lanes_scalar-inl.h"

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

/// The first `count` floats at p; lanes past them read `fill`.
WEIR_INLINE F32x16 load_some(const float* p, std::size_t count, float fill = 0.0F) {
  if (count >= kLanes) return load(p);
  alignas(64) float lanes[kLanes];
  for (float& x : lanes) x = fill;
  std::memcpy(lanes, p, count * sizeof(float));
  return load(lanes);
}
/// REQUIRES: count <= kLanes.
WEIR_INLINE void store_some(const F32x16& v, float* p, std::size_t count) {
  alignas(64) float lanes[kLanes];
  store(v, lanes);
  std::memcpy(p, lanes, count * sizeof(float));
}

/// The largest magnitude of x [n], 0 of none; infinity where one is no finite number.
WEIR_INLINE float largest_magnitude(const float* x, std::size_t n) {
  const F32x16 infinity = set(std::numeric_limits<float>::infinity());
  F32x16 most = set(0.0F);
  for (std::size_t i = 0; i < n; i += kLanes) {
    const F32x16 a = abs(load_some(x + i, n - i));
    // Not below infinity means infinite or NaN.
    most = max(most, select_less(a, infinity, a, infinity));
  }
  return largest_lane(most);
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
