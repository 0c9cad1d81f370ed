#include <algorithm>
#include <cstring>

#include "weir/compute/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/matmul_bf16.cc"
#include <hwy/foreach_target.h>

#include "weir/compute/row_tiles-inl.h"

// Highway 1.0.3 knows no target with BF16 dot products; a CPU of AVX3_DL may have them (Zen 4,
// Sapphire Rapids) or not (Ice Lake). The target is replaced, not nested: clang keeps the first of
// two.
#undef WEIR_BEFORE_BF16
#if HWY_TARGET == HWY_AVX3_DL
#define WEIR_BEFORE_BF16 HWY_POP_ATTRIBUTES HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16")
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {

/// Rows that pass over a pair of panels before the next: their values stay in L2.
inline constexpr std::uint64_t kRowBlock = 128;

/// sum += w0 x0 + w1 x1 for each of 16 outputs as vdpbf16ps has it: two fused operations, the odd
/// column first (measured equal on Zen 4 over 16 million random sums; Intel's manual gives the same
/// order).
struct WidenedPair {
  static constexpr int kTileRows = 6;
  static constexpr int kPanels = 1;
  WEIR_INLINE static F32x16 multiply(const I32x16& w, std::int32_t x, const F32x16& sum) {
    const auto high = static_cast<std::int32_t>(0xFFFF0000);
    const F32x16 odd = fma(from_bits(bit_and(w, set(high))), from_bits(set(x & high)), sum);
    return fma(from_bits(shift_left<16>(w)),
               from_bits(set(static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << 16))), odd);
  }
};

#ifdef WEIR_BEFORE_BF16
WEIR_BEFORE_BF16
struct DotPair {
  // 24 sums, two vectors of weights, and the values broadcast from memory: 26 of 32 registers.
  static constexpr int kTileRows = 12;
  static constexpr int kPanels = 2;
  WEIR_INLINE static F32x16 multiply(const I32x16& w, std::int32_t x, const F32x16& sum) {
    return {hn::Vec<DF>{_mm512_dpbf16_ps(sum.v.raw, reinterpret_cast<__m512bh>(w.v.raw),
                                         reinterpret_cast<__m512bh>(_mm512_set1_epi32(x)))}};
  }
};
#endif

/// P panels times M rows, whole: out is [M, out_stride].
template <class Pair, int P, int M>
WEIR_INLINE void tile(const std::int32_t* panels, std::uint64_t panel_stride, std::uint64_t pairs,
                      const std::uint16_t* x, float* out, std::uint64_t out_stride) {
  F32x16 sum[P][M];
  WEIR_UNROLL for (int p = 0; p < P; ++p) {
    WEIR_UNROLL for (int m = 0; m < M; ++m) sum[p][m] = set(0.0F);
  }
  for (std::uint64_t k = 0; k < pairs; ++k) {
    I32x16 w[P];
    WEIR_UNROLL for (int p = 0; p < P; ++p) {
      w[p] = load(panels + static_cast<std::uint64_t>(p) * panel_stride + k * kLanes);
    }
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      std::int32_t two;
      std::memcpy(&two, x + 2 * (static_cast<std::uint64_t>(m) * pairs + k), 4);
      WEIR_UNROLL for (int p = 0; p < P; ++p) sum[p][m] = Pair::multiply(w[p], two, sum[p][m]);
    }
  }
  WEIR_UNROLL for (int p = 0; p < P; ++p) {
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      store(sum[p][m], out + static_cast<std::uint64_t>(m) * out_stride + p * kLanes);
    }
  }
}

/// Rows [row0, row_end) times P panels from `panel` on. REQUIRES: `out` has room for 16 P outputs.
template <class Pair, int P>
WEIR_INLINE void rows_of(const PanelProduct& p, std::uint64_t panel, std::uint64_t row0,
                         std::uint64_t row_end, float* out, std::uint64_t out_stride) {
  const std::uint64_t pairs = (p.columns + 1) / 2;
  const auto* w = reinterpret_cast<const std::int32_t*>(p.panels + panel * p.panel_bytes);
  for_tiles<Pair::kTileRows>(row0, row_end, [&]<int M>(std::uint64_t row) {
    tile<Pair, P, M>(w, p.panel_bytes / 4, pairs, p.bf16 + row * 2 * pairs,
                     out + (row - row0) * out_stride, out_stride);
  });
}

template <class Pair>
void multiply_pairs(const PanelProduct& p) {
  alignas(64) float aside[kRowBlock][kLanes];
  const std::uint64_t full =
      p.add ? 0 : p.outputs / kLanes;  // Panels that may be stored as they are.
  for (std::uint64_t row0 = 0; row0 < p.rows; row0 += kRowBlock) {
    const std::uint64_t row_end = std::min(p.rows, row0 + kRowBlock);
    float* const out = p.out + row0 * p.out_stride;
    std::uint64_t panel = 0;
    for (; panel + Pair::kPanels <= full; panel += Pair::kPanels) {
      rows_of<Pair, Pair::kPanels>(p, panel, row0, row_end, out + panel * kLanes, p.out_stride);
    }
    for (; panel < p.count; ++panel) {
      rows_of<Pair, 1>(p, panel, row0, row_end, aside[0], kLanes);
      settle(aside, row_end - row0, std::min<std::uint64_t>(kLanes, p.outputs - panel * kLanes),
             out + panel * kLanes, p.out_stride, p.add);
    }
  }
}

void MultiplyBf16(const PanelProduct& p) {
#ifdef WEIR_BEFORE_BF16
  static const bool has_dots = __builtin_cpu_supports("avx512bf16") != 0;
  if (has_dots) return multiply_pairs<DotPair>(p);
#endif
  multiply_pairs<WidenedPair>(p);
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compute {
HWY_EXPORT(MultiplyBf16);
void multiply_bf16(const PanelProduct& p) { HWY_DYNAMIC_DISPATCH(MultiplyBf16)(p); }
}  // namespace weir::compute
#endif
