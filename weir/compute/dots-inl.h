/// Exact integer dot products of 16 weight rows with M activation rows: the only place where
/// targets differ in instructions. Every path computes the same integers, so it may order them as
/// it likes.
///
/// Without VNNI a byte product is maddubs (u8 x s8, pairs summed in int16, saturating at 32767).
/// Activation codes are within +-127, so codes of b bits give pairs of at most 2 (2^b - 1) 127, and
/// several of them add up in int16 before they must widen: 8 of 4 bits (30480), 4 of 5 bits
/// (31496), 2 of 6 bits (32004). Signed bytes move their sign to the activation: at most 2 x 128 x
/// 127 = 32512, one at a time. Included once per target: per-target include guard, no #pragma once.

#if defined(WEIR_COMPUTE_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_COMPUTE_DOTS_INL_H_
#undef WEIR_COMPUTE_DOTS_INL_H_
#else
#define WEIR_COMPUTE_DOTS_INL_H_
#endif

#include "weir/compute/lanes-inl.h"
#include "weir/compute/panel.h"

// Highway 1.0.3 compiles AVX3_DL without avx512vnni, though it selects it by that bit. The target
// is replaced, not nested: clang keeps the first of two.
#undef WEIR_BEFORE_VNNI
#if HWY_TARGET == HWY_AVX3_DL
#define WEIR_BEFORE_VNNI HWY_POP_ATTRIBUTES HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
#else
#define WEIR_BEFORE_VNNI
#endif

HWY_BEFORE_NAMESPACE();
WEIR_BEFORE_VNNI
namespace weir::compute {
namespace HWY_NAMESPACE {

/// Activation codes as kernels take them: row m at codes + m * stride.
struct CodeRows {
  const std::int8_t* codes;
  std::uint64_t stride;
};

#if HWY_TARGET == HWY_AVX3_DL

/// Whether unpacked codes of signed types are bytes with a sign, or shifted by 128 into u8.
inline constexpr bool kSignedCodes = false;
/// Whether the codes of a block, eight vectors, stay in registers beside the sums of a tile.
inline constexpr bool kCodesInRegisters = true;

template <int kSteps, int M>
WEIR_INLINE void dot(const U8x64* codes, const CodeRows& x, I32x16 (&out)[M]) {
  WEIR_UNROLL for (int m = 0; m < M; ++m) {
    // Two chains hide the latency of vpdpbusd when there are few rows.
    __m512i sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    const std::int8_t* row = x.codes + static_cast<std::uint64_t>(m) * x.stride;
    WEIR_UNROLL for (int j = 0; j < kSteps; ++j) {
      std::int32_t four;
      std::memcpy(&four, row + 4 * j, 4);
      sum[j % 2] = _mm512_dpbusd_epi32(sum[j % 2], codes[j].v.raw, _mm512_set1_epi32(four));
    }
    out[m] = {hn::Vec<DI>{_mm512_add_epi32(sum[0], sum[1])}};
  }
}

template <Codes kCodes, int kSteps, int M>
WEIR_INLINE void dot(const std::uint8_t* w, const CodeRows& x, I32x16 (&out)[M]) {
  U8x64 codes[kSteps];
  WEIR_UNROLL for (int j = 0; j < kSteps; ++j) codes[j] = load_bytes(w + 64 * j);
  dot<kSteps, M>(codes, x, out);
}

/// Stores a block's codes and the sum of each half.
WEIR_INLINE void store_codes(const I32x16& low, const I32x16& high, std::int8_t* codes,
                             std::int32_t* sums) {
  const __m256i all = _mm256_inserti128_si256(
      _mm256_castsi128_si256(_mm512_cvtepi32_epi8(low.v.raw)), _mm512_cvtepi32_epi8(high.v.raw), 1);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), all);
  // Four codes a lane; the first four lanes are the low half's. Not the 256-bit product: g++ 12
  // gives it the encoding of AVX-VNNI, which Zen 4 has not.
  const __m256i fours = _mm512_castsi512_si256(_mm512_dpbusd_epi32(
      _mm512_setzero_si512(), _mm512_set1_epi8(1), _mm512_castsi256_si512(all)));
  const __m256i pairs = _mm256_hadd_epi32(fours, fours);
  const __m256i halves = _mm256_hadd_epi32(pairs, pairs);
  sums[0] = _mm256_extract_epi32(halves, 0);
  sums[1] = _mm256_extract_epi32(halves, 4);
}

#elif HWY_TARGET == HWY_NEON && WEIR_SIMD

// dots_neon-inl.h, included below.

#elif WEIR_SIMD

inline constexpr bool kSignedCodes = true;
inline constexpr bool kCodesInRegisters = false;

#if HWY_TARGET == HWY_AVX2
WEIR_INLINE __m256i byte_products(__m256i u, __m256i s) { return _mm256_maddubs_epi16(u, s); }
WEIR_INLINE __m256i add_i16(__m256i a, __m256i b) { return _mm256_add_epi16(a, b); }
WEIR_INLINE __m256i add_i32(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
WEIR_INLINE __m256i widen_pairs(__m256i a) { return _mm256_madd_epi16(a, _mm256_set1_epi16(1)); }
WEIR_INLINE __m256i magnitude(__m256i a) { return _mm256_abs_epi8(a); }
WEIR_INLINE __m256i with_sign(__m256i x, __m256i sign) { return _mm256_sign_epi8(x, sign); }
#else
WEIR_INLINE __m512i byte_products(__m512i u, __m512i s) { return _mm512_maddubs_epi16(u, s); }
WEIR_INLINE __m512i add_i16(__m512i a, __m512i b) { return _mm512_add_epi16(a, b); }
WEIR_INLINE __m512i add_i32(__m512i a, __m512i b) { return _mm512_add_epi32(a, b); }
WEIR_INLINE __m512i widen_pairs(__m512i a) { return _mm512_madd_epi16(a, _mm512_set1_epi16(1)); }
WEIR_INLINE __m512i magnitude(__m512i a) { return _mm512_abs_epi8(a); }
WEIR_INLINE __m512i with_sign(__m512i x,
                              __m512i sign) {  // A zero in `sign` meets a zero magnitude.
  return _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(sign), _mm512_setzero_si512(), x);
}
#endif

/// Four columns: int16 pairs of products, set or added.
template <bool kSigned, bool kSet, int M>
WEIR_INLINE void add_step(const std::uint8_t* w, const std::int8_t* x, std::uint64_t stride,
                          Raw (&sum)[M][kParts]) {
  Raw codes[kParts];
  WEIR_UNROLL for (int p = 0; p < kParts; ++p) {
    codes[p] = hn::LoadU(DI(), reinterpret_cast<const std::int32_t*>(w) + p * kVector).raw;
  }
  WEIR_UNROLL for (int m = 0; m < M; ++m) {
    std::int32_t four;
    std::memcpy(&four, x + static_cast<std::uint64_t>(m) * stride, 4);
    const Raw four_x = hn::Set(DI(), four).raw;
    WEIR_UNROLL for (int p = 0; p < kParts; ++p) {
      const Raw pairs = kSigned ? byte_products(magnitude(codes[p]), with_sign(four_x, codes[p]))
                                : byte_products(codes[p], four_x);
      sum[m][p] = kSet ? pairs : add_i16(sum[m][p], pairs);
    }
  }
}

/// kRun steps whose pairs fit int16. The loop stays a loop: unrolled, g++ 12 hoists the broadcasts
/// of all steps above the products of the first and spills them, at three times the cost.
template <bool kSigned, int kRun, int M>
WEIR_INLINE void add_run(const std::uint8_t* w, const std::int8_t* x, std::uint64_t stride,
                         Raw (&sum)[M][kParts]) {
  add_step<kSigned, true>(w, x, stride, sum);
  WEIR_KEEP_LOOP for (int j = 1; j < kRun; ++j)
      add_step<kSigned, false>(w + 64 * j, x + 4 * j, stride, sum);
}

template <Codes kCodes, int kSteps, int M>
WEIR_INLINE void dot(const std::uint8_t* w, const CodeRows& x, I32x16 (&out)[M]) {
  constexpr bool kSigned = kCodes == Codes::kS8;
  constexpr int kAtOnce = kSigned ? 1 : kCodes == Codes::kU6 ? 2 : kCodes == Codes::kU5 ? 4 : 8;
  constexpr int kRun = kAtOnce < kSteps ? kAtOnce : kSteps;
  Raw sum[M][kParts];
  Raw wide[M][kParts];
  add_run<kSigned, kRun>(w, x.codes, x.stride, sum);
  WEIR_UNROLL for (int m = 0; m < M; ++m) {
    WEIR_UNROLL for (int p = 0; p < kParts; ++p) wide[m][p] = widen_pairs(sum[m][p]);
  }
  WEIR_KEEP_LOOP for (int first = kRun; first < kSteps; first += kRun) {
    add_run<kSigned, kRun>(w + 64 * first, x.codes + 4 * first, x.stride, sum);
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      WEIR_UNROLL for (int p = 0; p < kParts; ++p) wide[m][p] =
          add_i32(wide[m][p], widen_pairs(sum[m][p]));
    }
  }
  WEIR_UNROLL for (int m = 0; m < M; ++m) out[m] = wide_of(wide[m]);
}

#else  // The scalar twin.

inline constexpr bool kSignedCodes = true;
inline constexpr bool kCodesInRegisters = false;

template <Codes kCodes, int kSteps, int M>
WEIR_INLINE void dot(const std::uint8_t* w, const CodeRows& x, I32x16 (&out)[M]) {
  constexpr bool kSigned = kCodes == Codes::kS8 || kCodes == Codes::kTable;
  for (int m = 0; m < M; ++m) {
    const std::int8_t* row = x.codes + static_cast<std::uint64_t>(m) * x.stride;
    for (int r = 0; r < kLanes; ++r) {
      int sum = 0;
      for (int k = 0; k < 4 * kSteps; ++k) {
        const std::uint8_t code = w[k / 4 * 64 + r * 4 + k % 4];
        sum += (kSigned ? static_cast<std::int8_t>(code) : code) * row[k];
      }
      out[m].v[r] = sum;
    }
  }
}

#endif

#if HWY_TARGET != HWY_AVX3_DL
/// Stores a block's codes and the sum of each half.
WEIR_INLINE void store_codes(const I32x16& low, const I32x16& high, std::int8_t* codes,
                             std::int32_t* sums) {
  store_s8(low, codes);
  store_s8(high, codes + kLanes);
  sums[0] = sum_lanes(low);
  sums[1] = sum_lanes(high);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_TARGET == HWY_NEON && WEIR_SIMD
#include "weir/compute/dots_neon-inl.h"
#endif

#endif  // per-target include guard
