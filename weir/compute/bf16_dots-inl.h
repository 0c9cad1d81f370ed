/// Products of pairs of BF16, for weights and for keys and values: two fma, the second element
/// first, with subnormals flushed. So vpdpbf16ps computes (its documentation says so, and 19
/// million random triples on a Zen 4, near-subnormals and overflows among them, had the bits of the
/// two fma here), and so do the targets without it.
///
/// Included once per target: per-target include guard, no #pragma once.

#if defined(WEIR_COMPUTE_BF16_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_COMPUTE_BF16_DOTS_INL_H_
#undef WEIR_COMPUTE_BF16_DOTS_INL_H_
#else
#define WEIR_COMPUTE_BF16_DOTS_INL_H_
#endif

#include "weir/compute/round-inl.h"

// Highway 1.0.3 knows no target with BF16 dot products; a CPU of AVX3_DL may have them (Zen 4,
// Sapphire Rapids) or not (Ice Lake): only what is reached after has_bf16_dots() uses them. As in
// dots-inl.h the target is replaced, not nested.
#undef WEIR_BEFORE_BF16
#if HWY_TARGET == HWY_AVX3_DL
#define WEIR_BEFORE_BF16 \
  HWY_POP_ATTRIBUTES HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni,avx512bf16")
#else
#define WEIR_BEFORE_BF16
#endif

HWY_BEFORE_NAMESPACE();
WEIR_BEFORE_BF16
namespace weir::compute {
namespace HWY_NAMESPACE {

WEIR_INLINE std::uint32_t word_at(const std::uint32_t* p) {
  std::uint32_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}
WEIR_INLINE F32x16 set_float_of(std::uint32_t word) { return set(std::bit_cast<float>(word)); }

/// What the arithmetics on floats share: the sum is the result. pack_weights() is pack() for what
/// is finite, as weights are: where they are not, their sum is not either and says so.
struct FloatSums {
  using Sum = F32x16;
  static constexpr bool kIntegers = false;
  static constexpr bool kMasksTail = false;  ///< 0 times what was never written is never asked.
  static constexpr int kSumVectors = 1;      ///< A sum in F32x16s.
  static WEIR_INLINE Sum zero() { return set(0.0F); }
};

struct PairDots : FloatSums {
  static constexpr std::uint32_t kTogether = 2;
  static constexpr std::uint32_t kFactorWords = 2;
  static constexpr std::uint64_t kColumnBytes = 64;
  static constexpr bool kMasksTail = true;
  struct Column {
    F32x16 first, second;
  };
  using Factor = Column;

  static WEIR_INLINE Column load_column(const std::byte* p) {
    const I32x16 pairs = load(reinterpret_cast<const std::int32_t*>(p));
    return {from_bits(shift_left<16>(pairs)), from_bits(bit_and(pairs, set(-0x10000)))};
  }
  static WEIR_INLINE Column without_second(const Column& w) { return {w.first, set(0.0F)}; }
  /// Both elements of a pair as they are stored, and as pack() lays them out.
  static WEIR_INLINE Factor factor_of(std::uint32_t pair) {
    return {set_float_of(pair << 16), set_float_of(pair & 0xFFFF0000)};
  }
  static WEIR_INLINE Factor load_factor(const std::uint32_t* x) {
    return {set_float_of(word_at(x)), set_float_of(word_at(x + 1))};
  }
  static WEIR_INLINE void add_product(const Column& w, const Factor& x, Sum& sum) {
    sum = fma(w.first, x.first, fma(w.second, x.second, sum));
  }
  static WEIR_INLINE void pack(const F32x16& x, std::uint32_t* out) {
    store(bits_of(round_to_bf16(x)), reinterpret_cast<std::int32_t*>(out));
  }
  static WEIR_INLINE void pack_weights(const F32x16& x, std::uint32_t* out) {
    store(bit_and(rounded_up_to_bf16(x), set(-0x10000)), reinterpret_cast<std::int32_t*>(out));
  }
};

#if HWY_TARGET == HWY_AVX3_DL

inline bool has_bf16_dots() {
  static const bool has = __builtin_cpu_supports("avx512bf16") != 0;
  return has;
}

/// PairDots in one instruction.
struct PairDotsBf16 : FloatSums {
  static constexpr std::uint32_t kTogether = 2;
  static constexpr std::uint32_t kFactorWords = 1;
  static constexpr std::uint64_t kColumnBytes = 64;
  static constexpr bool kMasksTail = true;
  using Column = __m512i;
  using Factor = __m512i;

  static WEIR_INLINE Column load_column(const std::byte* p) { return _mm512_loadu_si512(p); }
  static WEIR_INLINE Column without_second(const Column& w) {
    return _mm512_and_si512(w, _mm512_set1_epi32(0xFFFF));
  }
  static WEIR_INLINE Factor factor_of(std::uint32_t pair) {
    return _mm512_set1_epi32(static_cast<std::int32_t>(pair));
  }
  static WEIR_INLINE Factor load_factor(const std::uint32_t* x) { return factor_of(word_at(x)); }
  static WEIR_INLINE void add_product(const Column& w, const Factor& x, Sum& sum) {
    sum.v.raw =
        _mm512_dpbf16_ps(sum.v.raw, reinterpret_cast<__m512bh>(w), reinterpret_cast<__m512bh>(x));
  }
  static WEIR_INLINE void pack(const F32x16& x, std::uint32_t* out) {
    store_upper_halves(bits_of(round_to_bf16(x)), reinterpret_cast<std::uint16_t*>(out));
  }
  static WEIR_INLINE void pack_weights(const F32x16& x, std::uint32_t* out) {
    store_upper_halves(rounded_up_to_bf16(x), reinterpret_cast<std::uint16_t*>(out));
  }
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
