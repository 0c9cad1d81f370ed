#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "weir/compute/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/quantise.cc"
#include <hwy/foreach_target.h>

#include "weir/compute/dots-inl.h"
#include "weir/compute/round-inl.h"

HWY_BEFORE_NAMESPACE();
WEIR_BEFORE_VNNI
namespace weir::compute {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

/// Four vectors to one: lane i of every 128 bits of the result is the fold of v[i]'s four lanes
/// there.
template <class F>
WEIR_INLINE __m512i fold_four(const __m512i (&v)[4], const F& fold) {
  const __m512i low = fold(_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[0], v[1]));
  const __m512i high = fold(_mm512_unpacklo_epi32(v[2], v[3]), _mm512_unpackhi_epi32(v[2], v[3]));
  return fold(_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high));
}

/// Four blocks at once, a third of the instructions of one after the other: the same values. False,
/// and nothing done, when one of them is zero or no number.
WEIR_INLINE bool quantise_four(const float* x, std::int8_t* codes, float* scales,
                               float* scaled_sums, std::int32_t* code_sums) {
  __m512 v[8];
  __m512i largest[4];
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  const auto max = [](__m512i a, __m512i b) { return _mm512_max_epi32(a, b); };
  const auto sum = [](__m512i a, __m512i b) { return _mm512_add_epi32(a, b); };
  WEIR_UNROLL for (int i = 0; i < 8; ++i) v[i] = _mm512_loadu_ps(x + 16 * i);
  // Magnitudes order as their bits do, NaN and infinity above all numbers.
  WEIR_UNROLL for (int i = 0; i < 4; ++i) {
    largest[i] = max(_mm512_and_si512(_mm512_castps_si512(v[2 * i]), magnitude),
                     _mm512_and_si512(_mm512_castps_si512(v[2 * i + 1]), magnitude));
  }
  __m512i all = fold_four(largest, max);
  all = max(all, _mm512_shuffle_i32x4(all, all, 0x4E));
  all = max(all, _mm512_shuffle_i32x4(all, all, 0xB1));
  const __m128i bits = _mm512_castsi512_si128(all);
  const __m128i small = _mm_cmplt_epi32(bits, _mm_set1_epi32(std::bit_cast<int>(0x1p-100F)));
  const __m128i beyond = _mm_cmpgt_epi32(bits, _mm_set1_epi32(0x7F7FFFFF));
  if (_mm_movemask_epi8(_mm_or_si128(small, beyond)) != 0) return false;

  const __m128 most = _mm_castsi128_ps(bits);
  const __m512 inverse = _mm512_broadcast_f32x4(_mm_div_ps(_mm_set1_ps(127.0F), most));
  const __m128 scale = _mm_div_ps(most, _mm_set1_ps(127.0F));
  const __m512 factor[4] = {_mm512_permute_ps(inverse, 0x00), _mm512_permute_ps(inverse, 0x55),
                            _mm512_permute_ps(inverse, 0xAA), _mm512_permute_ps(inverse, 0xFF)};
  __m512i fours[4];  // Sums of four codes each; two vectors of 64 codes, and room for the fold.
  // Packing works within 128 bits: words of four codes come out in the order 0 4 8 12 1 5 ...
  const __m512i in_order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  WEIR_UNROLL for (int i = 0; i < 2; ++i) {
    __m512i r[4];
    WEIR_UNROLL for (int j = 0; j < 4; ++j) {
      r[j] = _mm512_cvtps_epi32(_mm512_mul_ps(v[4 * i + j], factor[2 * i + j / 2]));
    }
    const __m512i packed = _mm512_permutexvar_epi32(
        in_order,
        _mm512_packs_epi16(_mm512_packs_epi32(r[0], r[1]), _mm512_packs_epi32(r[2], r[3])));
    _mm512_storeu_si512(codes + 64 * i, packed);
    fours[i] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi8(1), packed);
  }
  // Lanes 0 and 1 of every 128 bits: sums of 16 codes of the first and of the second vector.
  const __m512i pairs =
      sum(_mm512_unpacklo_epi32(fours[0], fours[1]), _mm512_unpackhi_epi32(fours[0], fours[1]));
  const __m512i sixteens = sum(pairs, _mm512_shuffle_epi32(pairs, _MM_PERM_BADC));
  const __m512i eight = _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0), sixteens);
  const __m256i sums = _mm512_castsi512_si256(eight);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(code_sums), sums);
  const __m256i halves = _mm256_hadd_epi32(sums, sums);
  const __m128i blocks =
      _mm_unpacklo_epi64(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
  _mm_storeu_ps(scales, scale);
  _mm_storeu_ps(scaled_sums, _mm_mul_ps(scale, _mm_cvtepi32_ps(blocks)));
  return true;
}

#else

WEIR_INLINE bool quantise_four(const float*, std::int8_t*, float*, float*, std::int32_t*) {
  return false;
}

#endif

void QuantiseBlocks(const float* x, std::uint64_t blocks, std::int8_t* codes, float* scales,
                    float* scaled_sums, std::int32_t* code_sums) {
  for (std::uint64_t b = 0; b < blocks; ++b, x += 32, codes += 32, code_sums += 2) {
    while (b + 4 <= blocks && quantise_four(x, codes, scales + b, scaled_sums + b, code_sums)) {
      b += 4;
      x += 128;
      codes += 128;
      code_sums += 8;
    }
    if (b == blocks) return;
    const float largest = largest_magnitude(x, 32);
    if (!(largest >= 0x1p-100F) || std::isinf(largest)) {
      std::memset(codes, 0, 32);
      scales[b] = std::isinf(largest) ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
      scaled_sums[b] = scales[b];
      code_sums[0] = code_sums[1] = 0;
      continue;
    }
    const F32x16 inverse = set(127.0F / largest);
    store_codes(round_to_int(mul(load(x), inverse)), round_to_int(mul(load(x + kLanes), inverse)),
                codes, code_sums);
    scales[b] = largest / 127.0F;
    scaled_sums[b] = scales[b] * static_cast<float>(code_sums[0] + code_sums[1]);
  }
}

void RoundToBf16(const float* x, std::uint64_t count, std::uint16_t* out) {
  const F32x16 infinity = set(std::numeric_limits<float>::infinity());
  const F32x16 nan = set(std::numeric_limits<float>::quiet_NaN());
  const auto rounded = [&](const F32x16& v) {
    return rounded_up_to_bf16(select_less(abs(v), infinity, v, nan));
  };
  std::uint64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store_upper_halves(rounded(load(x + i)), out + i);
  if (i == count) return;
  alignas(64) std::uint16_t last[kLanes];
  store_upper_halves(rounded(load_some(x + i, count - i)), last);
  std::memcpy(out + i, last, (count - i) * sizeof(std::uint16_t));
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compute {
HWY_EXPORT(QuantiseBlocks);
HWY_EXPORT(RoundToBf16);
void round_to_bf16(const float* x, std::uint64_t count, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(RoundToBf16)(x, count, out);
}
void quantise_blocks(const float* x, std::uint64_t blocks, std::int8_t* codes, float* scales,
                     float* scaled_sums, std::int32_t* code_sums) {
  HWY_DYNAMIC_DISPATCH(QuantiseBlocks)(x, blocks, codes, scales, scaled_sums, code_sums);
}
}  // namespace weir::compute
#endif
