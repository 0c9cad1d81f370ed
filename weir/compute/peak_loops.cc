#include "weir/compute/peak_loops.h"

#include "weir/compute/kernel_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/peak_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef WEIR_COMPUTE_PEAK_LOOPS_ONCE_
#define WEIR_COMPUTE_PEAK_LOOPS_ONCE_

namespace weir::compute {

inline constexpr int kChains = 12;

/// All lanes of all chains, added up.
template <class Lane, class Vector>
double sum_of(const Vector (&chains)[kChains]) {
  double total = 0;
  for (const Vector& chain : chains) {
    Lane lanes[sizeof(Vector) / sizeof(Lane)];
    __builtin_memcpy(lanes, &chain, sizeof lanes);
    for (const Lane lane : lanes) total += static_cast<double>(lane);
  }
  return total;
}

}  // namespace weir::compute

// The twelve chains are twelve names: of an array g++ 12 makes memory, and then store forwarding
// is what is measured. Each chain passes through an empty asm statement, so that the compiler knows
// nothing of its value and must do each step; an operand that does keeps its product in the loop.
#define WEIR_STEP(x, STEP, OPAQUE) \
  OPAQUE(a);                       \
  x = STEP(x, a, b);               \
  OPAQUE(x);
#define WEIR_PEAK_LOOP(attributes, name, Vector, Lane, zero, one, STEP, OPAQUE)        \
  attributes double name(std::uint64_t rounds) {                                       \
    Vector x0 = zero, x1 = x0, x2 = x0, x3 = x0, x4 = x0, x5 = x0, x6 = x0, x7 = x0;   \
    Vector x8 = x0, x9 = x0, x10 = x0, x11 = x0;                                       \
    auto a = one;                                                                      \
    const auto b = one;                                                                \
    for (std::uint64_t i = 0; i < rounds; ++i) {                                       \
      WEIR_STEP(x0, STEP, OPAQUE)                                                      \
      WEIR_STEP(x1, STEP, OPAQUE)                                                      \
      WEIR_STEP(x2, STEP, OPAQUE)                                                      \
      WEIR_STEP(x3, STEP, OPAQUE)                                                      \
      WEIR_STEP(x4, STEP, OPAQUE)                                                      \
      WEIR_STEP(x5, STEP, OPAQUE)                                                      \
      WEIR_STEP(x6, STEP, OPAQUE)                                                      \
      WEIR_STEP(x7, STEP, OPAQUE)                                                      \
      WEIR_STEP(x8, STEP, OPAQUE)                                                      \
      WEIR_STEP(x9, STEP, OPAQUE)                                                      \
      WEIR_STEP(x10, STEP, OPAQUE)                                                     \
      WEIR_STEP(x11, STEP, OPAQUE)                                                     \
    }                                                                                  \
    const Vector chains[kChains] = {x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11}; \
    return sum_of<Lane>(chains);                                                       \
  }

#if HWY_ARCH_X86
#include <immintrin.h>

namespace weir::compute {

#define WEIR_OPAQUE_X86(x) asm volatile("" : "+v"(x))
#define WEIR_TARGET(names) __attribute__((target(names))) inline
#define WEIR_MADDUBS_256(x, a, b) _mm256_add_epi16(x, _mm256_maddubs_epi16(a, b))
#define WEIR_MADDUBS_512(x, a, b) _mm512_add_epi16(x, _mm512_maddubs_epi16(a, b))

// maddubs adds two products into an int16 lane, which is why the counts end at kCountedRounds.
WEIR_PEAK_LOOP(WEIR_TARGET("avx2"), spin_maddubs_ymm, __m256i, std::int16_t, _mm256_setzero_si256(),
               _mm256_set1_epi8(1), WEIR_MADDUBS_256, WEIR_OPAQUE_X86)
WEIR_PEAK_LOOP(WEIR_TARGET("avx512f,avx512bw"), spin_maddubs_zmm, __m512i, std::int16_t,
               _mm512_setzero_si512(), _mm512_set1_epi8(1), WEIR_MADDUBS_512, WEIR_OPAQUE_X86)
WEIR_PEAK_LOOP(WEIR_TARGET("avx512f,avx512bw,avx512vnni"), spin_vpdpbusd, __m512i, std::int32_t,
               _mm512_setzero_si512(), _mm512_set1_epi8(1), _mm512_dpbusd_epi32, WEIR_OPAQUE_X86)
// 0x3F80 is 1 in bf16.
WEIR_PEAK_LOOP(WEIR_TARGET("avx512f,avx512bw,avx512bf16"), spin_vdpbf16ps, __m512, float,
               _mm512_setzero_ps(), (__m512bh)_mm512_set1_epi16(0x3F80), _mm512_dpbf16_ps,
               WEIR_OPAQUE_X86)

}  // namespace weir::compute
#elif defined(__aarch64__)
#include <arm_neon.h>

namespace weir::compute {

#define WEIR_OPAQUE_ARM(x) asm volatile("" : "+w"(x))
#define WEIR_TARGET(names) __attribute__((target(names))) inline
#define WEIR_SDOT(x, a, b) vdotq_s32(x, a, b)
#define WEIR_SMMLA(x, a, b) vmmlaq_s32(x, a, b)

WEIR_PEAK_LOOP(WEIR_TARGET("arch=armv8.2-a+dotprod"), spin_sdot, int32x4_t, std::int32_t,
               vdupq_n_s32(0), vdupq_n_s8(1), WEIR_SDOT, WEIR_OPAQUE_ARM)
WEIR_PEAK_LOOP(WEIR_TARGET("arch=armv8.2-a+dotprod+i8mm"), spin_smmla, int32x4_t, std::int32_t,
               vdupq_n_s32(0), vdupq_n_s8(1), WEIR_SMMLA, WEIR_OPAQUE_ARM)

}  // namespace weir::compute
#endif  // __aarch64__
#endif  // once

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#undef WEIR_OPAQUE_LANES
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define WEIR_OPAQUE_LANES(x) asm volatile("" : "+m"((x).raw))
#elif HWY_ARCH_X86
#define WEIR_OPAQUE_LANES(x) asm volatile("" : "+v"((x).raw))
#else
#define WEIR_OPAQUE_LANES(x) asm volatile("" : "+w"((x).raw))
#endif

using DF = hn::ScalableTag<float>;
#define WEIR_FMA(x, a, b) hn::MulAdd(a, b, x)
WEIR_PEAK_LOOP(inline, spin_fma, hn::Vec<DF>, float, hn::Zero(DF()), hn::Set(DF(), 1.0F), WEIR_FMA,
               WEIR_OPAQUE_LANES)

PeakLoop FmaLoop() {
  return {"f32 fma", 2.0 * static_cast<double>(hn::Lanes(DF())) * kChains, spin_fma};
}

#if HWY_TARGET != HWY_AVX2 && HWY_TARGET != HWY_AVX3 && HWY_TARGET != HWY_AVX3_DL
// For targets whose dot of bytes is not written here.
using DS = hn::ScalableTag<std::int16_t>;
#define WEIR_MUL_ADD_16(x, a, b) hn::Add(x, hn::Mul(a, b))
WEIR_PEAK_LOOP(inline, spin_int16, hn::Vec<DS>, std::int16_t, hn::Zero(DS()), hn::Set(DS(), 1),
               WEIR_MUL_ADD_16, WEIR_OPAQUE_LANES)
#endif

PeakLoop Int8Loop() {
#if HWY_TARGET == HWY_AVX3_DL
  return {"vpdpbusd zmm", 2.0 * 64 * kChains, spin_vpdpbusd};
#elif HWY_TARGET == HWY_AVX3
  return {"vpmaddubsw zmm", 2.0 * 64 * kChains, spin_maddubs_zmm};
#elif HWY_TARGET == HWY_AVX2
  return {"vpmaddubsw ymm", 2.0 * 32 * kChains, spin_maddubs_ymm};
#else
  return {"int16 multiply, add", 2.0 * static_cast<double>(hn::Lanes(DS())) * kChains, spin_int16};
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compute {

HWY_EXPORT(FmaLoop);
HWY_EXPORT(Int8Loop);

std::optional<PeakLoop> peak_loop(Peak peak) {
  if (peak == Peak::kF32Fma) return HWY_DYNAMIC_DISPATCH(FmaLoop)();
#if defined(__aarch64__)
  if (peak == Peak::kInt8Dot && kernel_target() == "NEON_I8MM")
    return PeakLoop{"smmla", 2.0 * 32 * kChains, spin_smmla};
  if (peak == Peak::kInt8Dot && kernel_target() == "NEON_DOTPROD")
    return PeakLoop{"sdot", 2.0 * 16 * kChains, spin_sdot};
#endif
  if (peak == Peak::kInt8Dot) return HWY_DYNAMIC_DISPATCH(Int8Loop)();
#if HWY_ARCH_X86
  if (__builtin_cpu_supports("avx512bf16")) {
    return PeakLoop{"vdpbf16ps zmm", 2.0 * 32 * kChains, spin_vdpbf16ps};
  }
#endif
  return std::nullopt;
}

}  // namespace weir::compute
#endif
