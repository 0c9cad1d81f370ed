/// Sums over keys and values as they are stored (kv_layout.h): M query vectors times P columns of
/// 16 lanes,
///
///     sum[m][p][lane] += w[p][k][lane] * x[m][k]    for k = 0 .. n - 1, in this order.
///
/// The arithmetic of each type is a struct; what x looks like to it, the factors, is made by its
/// pack(). F32 and F16 are widened, one fma an element. BF16 goes in pairs (bf16_dots-inl.h); the
/// factors are rounded to bf16, which loses as much as the stored keys did. Bytes are multiplied
/// exactly, with the factors as 16-bit integers, so that nothing is lost but what storing lost; the
/// offset of the codes, 128 times the sum of the factors, is taken off at the end.
///
/// Included once per target: per-target include guard, no #pragma once.

#if defined(WEIR_COMPUTE_KV_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_COMPUTE_KV_DOTS_INL_H_
#undef WEIR_COMPUTE_KV_DOTS_INL_H_
#else
#define WEIR_COMPUTE_KV_DOTS_INL_H_
#endif

#include "weir/compute/bf16_dots-inl.h"
#include "weir/spec/dtype.h"

HWY_BEFORE_NAMESPACE();
WEIR_BEFORE_BF16
namespace weir::compute {
namespace HWY_NAMESPACE {

template <DType kType>
struct FloatDots : FloatSums {
  static constexpr std::uint32_t kTogether = 1;
  static constexpr std::uint32_t kFactorWords = 1;  ///< Of a step.
  static constexpr std::uint64_t kColumnBytes = kType == DType::kF32 ? 64 : 32;
  using Column = F32x16;
  using Factor = F32x16;

  static WEIR_INLINE Column load_column(const std::byte* p) {
    if constexpr (kType == DType::kF32) {
      return load(reinterpret_cast<const float*>(p));
    } else {
      return load_f16(reinterpret_cast<const std::uint16_t*>(p));
    }
  }
  static WEIR_INLINE Factor load_factor(const std::uint32_t* x) { return set_float_of(word_at(x)); }
  static WEIR_INLINE void add_product(const Column& w, const Factor& x, Sum& sum) {
    sum = fma(w, x, sum);
  }
  static WEIR_INLINE void pack(const F32x16& x, std::uint32_t* out) {
    store(bits_of(x), reinterpret_cast<std::int32_t*>(out));
  }
  static WEIR_INLINE void pack_weights(const F32x16& x, std::uint32_t* out) { pack(x, out); }
};

/// Unsigned bytes, four to a lane, times integers of 16 bits.
struct ByteDots {
  static constexpr std::uint32_t kTogether = 4;
  static constexpr std::uint32_t kFactorWords = 2;
  static constexpr std::uint64_t kColumnBytes = 64;
  static constexpr bool kIntegers = true;
  static constexpr bool kMasksTail = false;  ///< Any byte times 0 is 0.

#if HWY_TARGET == HWY_AVX3_DL

  // x = 256 high + low, both signed bytes.
  static constexpr int kSumVectors = 2;
  struct Sum {
    __m512i high, low;
  };
  using Column = __m512i;
  using Factor = Sum;

  static WEIR_INLINE Sum zero() { return {_mm512_setzero_si512(), _mm512_setzero_si512()}; }
  static WEIR_INLINE Column load_column(const std::byte* p) { return _mm512_loadu_si512(p); }
  static WEIR_INLINE Factor load_factor(const std::uint32_t* x) {
    return {_mm512_set1_epi32(static_cast<std::int32_t>(word_at(x))),
            _mm512_set1_epi32(static_cast<std::int32_t>(word_at(x + 1)))};
  }
  static WEIR_INLINE void add_product(const Column& w, const Factor& x, Sum& sum) {
    sum.high = _mm512_dpbusd_epi32(sum.high, w, x.high);
    sum.low = _mm512_dpbusd_epi32(sum.low, w, x.low);
  }
  static WEIR_INLINE I32x16 total(const Sum& sum) {
    return {hn::Vec<DI>{_mm512_add_epi32(_mm512_slli_epi32(sum.high, 8), sum.low)}};
  }
  static WEIR_INLINE void pack(const I32x16& x, std::uint32_t* out) {
    const __m512i rounded = _mm512_add_epi32(x.v.raw, _mm512_set1_epi32(128));
    const __m128i high = _mm512_cvtepi32_epi8(_mm512_srai_epi32(rounded, 8));
    const __m128i low = _mm512_cvtepi32_epi8(x.v.raw);  // x - 256 high, modulo 256.
    auto* const words = reinterpret_cast<__m128i*>(out);
    _mm_storeu_si128(words, _mm_unpacklo_epi32(high, low));
    _mm_storeu_si128(words + 1, _mm_unpackhi_epi32(high, low));
  }

#else

  // Elements 0 and 2 of four, and 1 and 3, as pairs of 16 bits.
  static constexpr int kSumVectors = 1;
  using Sum = I32x16;
  static WEIR_INLINE Sum zero() { return set(0); }
  static WEIR_INLINE I32x16 total(const Sum& sum) { return sum; }
  static WEIR_INLINE void pack(const I32x16& x, std::uint32_t* out) {
    alignas(64) std::int32_t e[kLanes];
    store(x, e);
    const auto pair = [](std::int32_t low, std::int32_t high) {
      return (static_cast<std::uint32_t>(low) & 0xFFFF) | static_cast<std::uint32_t>(high) << 16;
    };
    for (int i = 0; i < kLanes; i += 4, out += 2) {
      out[0] = pair(e[i], e[i + 2]);
      out[1] = pair(e[i + 1], e[i + 3]);
    }
  }

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3

  struct Column {
    Raw even[kParts], odd[kParts];
  };
  struct Factor {
    Raw even, odd;
  };
#if HWY_TARGET == HWY_AVX2
  static WEIR_INLINE Raw multiply_pairs(Raw a, Raw b) { return _mm256_madd_epi16(a, b); }
  static WEIR_INLINE Raw even_bytes(Raw a) { return _mm256_and_si256(a, _mm256_set1_epi16(0xFF)); }
  static WEIR_INLINE Raw odd_bytes(Raw a) { return _mm256_srli_epi16(a, 8); }
#else
  static WEIR_INLINE Raw multiply_pairs(Raw a, Raw b) { return _mm512_madd_epi16(a, b); }
  static WEIR_INLINE Raw even_bytes(Raw a) { return _mm512_and_si512(a, _mm512_set1_epi16(0xFF)); }
  static WEIR_INLINE Raw odd_bytes(Raw a) { return _mm512_srli_epi16(a, 8); }
#endif
  static WEIR_INLINE Column load_column(const std::byte* p) {
    Column w;
    WEIR_UNROLL for (int i = 0; i < kParts; ++i) {
      const Raw bytes = hn::LoadU(DI(), reinterpret_cast<const std::int32_t*>(p) + i * kVector).raw;
      w.even[i] = even_bytes(bytes);
      w.odd[i] = odd_bytes(bytes);
    }
    return w;
  }
  static WEIR_INLINE Factor load_factor(const std::uint32_t* x) {
    return {hn::Set(DI(), static_cast<std::int32_t>(word_at(x))).raw,
            hn::Set(DI(), static_cast<std::int32_t>(word_at(x + 1))).raw};
  }
  static WEIR_INLINE void add_product(const Column& w, const Factor& x, Sum& sum) {
    Raw even[kParts];
    Raw odd[kParts];
    WEIR_UNROLL for (int i = 0; i < kParts; ++i) {
      even[i] = multiply_pairs(w.even[i], x.even);
      odd[i] = multiply_pairs(w.odd[i], x.odd);
    }
    sum = add(add(sum, wide_of(even)), wide_of(odd));
  }

#elif WEIR_SIMD

  // Where nothing multiplies pairs: byte by byte, in whole lanes.
  struct Column {
    I32x16 byte[4];
  };
  using Factor = Column;
  template <class V, int N>
  static WEIR_INLINE Wide<V, N> add_multiple(const Wide<V, N>& w, const Wide<V, N>& x,
                                             const Wide<V, N>& sum) {
    if constexpr (N == 1) {
      return {hn::Add(sum.v, hn::Mul(w.v, x.v))};
    } else {
      return {add_multiple(w.lo, x.lo, sum.lo), add_multiple(w.hi, x.hi, sum.hi)};
    }
  }
  static WEIR_INLINE Column load_column(const std::byte* p) {
    const I32x16 all = load(reinterpret_cast<const std::int32_t*>(p));
    const I32x16 mask = set(0xFF);
    return {{bit_and(all, mask), bit_and(shift_right<8>(all), mask),
             bit_and(shift_right<16>(all), mask), bit_and(shift_right<24>(all), mask)}};
  }
  static WEIR_INLINE Factor load_factor(const std::uint32_t* x) {
    const auto element = [](std::uint32_t pair, int shift) {
      return set(std::int32_t{static_cast<std::int16_t>(pair >> shift & 0xFFFF)});
    };
    return {{element(word_at(x), 0), element(word_at(x + 1), 0), element(word_at(x), 16),
             element(word_at(x + 1), 16)}};
  }
  static WEIR_INLINE void add_product(const Column& w, const Factor& x, Sum& sum) {
    WEIR_UNROLL for (int i = 0; i < 4; ++i) sum = add_multiple(w.byte[i], x.byte[i], sum);
  }

#else  // The scalar twin.

  using Column = const std::byte*;
  using Factor = const std::uint32_t*;
  static Column load_column(const std::byte* p) { return p; }
  static Factor load_factor(const std::uint32_t* x) { return x; }
  static void add_product(const Column& w, const Factor& x, Sum& sum) {
    for (int i = 0; i < kLanes; ++i) {
      std::int32_t dot = 0;
      for (int t = 0; t < 4; ++t) {
        const auto factor = static_cast<std::int16_t>(x[t % 2] >> (t / 2 * 16) & 0xFFFF);
        dot += static_cast<std::int32_t>(w[4 * i + t]) * factor;
      }
      sum.v[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum.v[i]) +
                                           static_cast<std::uint32_t>(dot));
    }
  }

#endif
#endif
};

#if WEIR_SIMD
inline constexpr int kVectorLanes = kVector;
#else
inline constexpr int kVectorLanes = 1;
#endif

/// Columns at once: as many as the registers hold beside the factors, so that a factor is loaded
/// for several and fma's latency is hidden with few query vectors.
template <class Dots, int M>
inline constexpr int kColumns = !WEIR_SIMD               ? 1
                                : kLanes == kVectorLanes ? (M * Dots::kSumVectors <= 6 ? 4 : 2)
                                : M == 1                 ? 4
                                : M <= 3                 ? 2
                                                         : 1;

/// Where the lines lie that are fetched as the sums go on: `bytes` further with each column.
struct Fetch {
  const std::byte* at;
  std::uint64_t bytes;
  WEIR_INLINE void next() {
    __builtin_prefetch(at, 0, 2);  // Into L2: it is wanted a group later.
    at += bytes;
  }
};

template <class Dots, int M, int P>
WEIR_INLINE void accumulate(const std::byte* const (&w)[P], std::uint64_t w_stride, std::uint64_t n,
                            const std::uint32_t* const (&x)[M], Fetch fetch,
                            typename Dots::Sum (&sum)[M][P]) {
  for (std::uint64_t k = 0; k < n; ++k) {
    typename Dots::Column column[P];
    WEIR_UNROLL for (int p = 0; p < P; ++p) {
      column[p] = Dots::load_column(w[p] + k * w_stride);
      fetch.next();
    }
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      const typename Dots::Factor factor = Dots::load_factor(x[m] + k * Dots::kFactorWords);
      WEIR_UNROLL for (int p = 0; p < P; ++p) Dots::add_product(column[p], factor, sum[m][p]);
    }
  }
}

/// A step whose second elements were never written: whatever lies there does not count.
template <class Dots, int M, int P>
WEIR_INLINE void accumulate_first_elements(const std::byte* const (&w)[P],
                                           const std::uint32_t* const (&x)[M],
                                           typename Dots::Sum (&sum)[M][P]) {
  WEIR_UNROLL for (int p = 0; p < P; ++p) {
    const typename Dots::Column column = Dots::without_second(Dots::load_column(w[p]));
    WEIR_UNROLL for (int m = 0; m < M; ++m)
        Dots::add_product(column, Dots::load_factor(x[m]), sum[m][p]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
