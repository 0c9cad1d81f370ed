#include <algorithm>
#include <cstring>

#include "weir/compute/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/matmul_bf16.cc"
#include <hwy/foreach_target.h>

#include "weir/compute/bf16_dots-inl.h"
#include "weir/compute/row_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
WEIR_BEFORE_BF16
namespace weir::compute {
namespace HWY_NAMESPACE {

/// Rows that pass over a pair of panels before the next: their values stay in L2.
inline constexpr std::uint64_t kRowBlock = 128;

struct WidenedTile {
  using Dots = PairDots;
  static constexpr int kTileRows = 6;
  static constexpr int kPanels = 1;
};

#if HWY_TARGET == HWY_AVX3_DL
struct DotTile {
  using Dots = PairDotsBf16;
  // 24 sums, two vectors of weights, and the values broadcast from memory: 26 of 32 registers.
  static constexpr int kTileRows = 12;
  static constexpr int kPanels = 2;
};
#endif

/// P panels times M rows, whole, or added: out is [M, out_stride].
template <class Dots, int P, int M>
WEIR_INLINE void tile(const std::byte* panels, std::uint64_t panel_bytes, std::uint64_t pairs,
                      const std::uint16_t* x, float* out, std::uint64_t out_stride,
                      bool add_to_out) {
  F32x16 sum[P][M];
  WEIR_UNROLL for (int p = 0; p < P; ++p) {
    WEIR_UNROLL for (int m = 0; m < M; ++m) sum[p][m] = set(0.0F);
  }
  for (std::uint64_t k = 0; k < pairs; ++k) {
    typename Dots::Column w[P];
    WEIR_UNROLL for (int p = 0; p < P; ++p) {
      const std::byte* const column =
          panels + static_cast<std::uint64_t>(p) * panel_bytes + k * Dots::kColumnBytes;
      w[p] = Dots::load_column(column);
      // The same place in the panels that come next. One row waits for memory anyway, and is a
      // tenth slower with hints than with the core's own prefetcher.
      if (M > 1) __builtin_prefetch(column + P * panel_bytes, 0, 2);
    }
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      std::uint32_t pair;
      std::memcpy(&pair, x + 2 * (static_cast<std::uint64_t>(m) * pairs + k), sizeof pair);
      const typename Dots::Factor factor = Dots::factor_of(pair);
      WEIR_UNROLL for (int p = 0; p < P; ++p) Dots::add_product(w[p], factor, sum[p][m]);
    }
  }
  WEIR_UNROLL for (int p = 0; p < P; ++p) {
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      float* const to = out + static_cast<std::uint64_t>(m) * out_stride + p * kLanes;
      store(add_to_out ? add(sum[p][m], load(to)) : sum[p][m], to);
    }
  }
}

/// Rows [row0, row_end) times P panels from `panel` on. REQUIRES: `out` has room for 16 P outputs.
template <class Tile, int P>
WEIR_INLINE void rows_of(const PanelProduct& p, std::uint64_t panel, std::uint64_t row0,
                         std::uint64_t row_end, float* out, std::uint64_t out_stride,
                         bool add_to_out) {
  const std::uint64_t pairs = (p.columns + 1) / 2;
  const std::byte* const w = p.panels + panel * p.panel_bytes;
  for_tiles<Tile::kTileRows>(row0, row_end, [&]<int M>(std::uint64_t row) {
    tile<typename Tile::Dots, P, M>(w, p.panel_bytes, pairs, p.bf16 + row * 2 * pairs,
                                    out + (row - row0) * out_stride, out_stride, add_to_out);
  });
}

template <class Tile>
void multiply_pairs(const PanelProduct& p) {
  alignas(64) float aside[kRowBlock][kLanes];
  const std::uint64_t full = p.outputs / kLanes;  // Panels that may be stored as they are.
  for (std::uint64_t row0 = 0; row0 < p.rows; row0 += kRowBlock) {
    const std::uint64_t row_end = std::min(p.rows, row0 + kRowBlock);
    float* const out = p.out + row0 * p.out_stride;
    std::uint64_t panel = 0;
    for (; panel + Tile::kPanels <= full; panel += Tile::kPanels) {
      rows_of<Tile, Tile::kPanels>(p, panel, row0, row_end, out + panel * kLanes, p.out_stride,
                                   p.add);
    }
    for (; panel < p.count; ++panel) {
      rows_of<Tile, 1>(p, panel, row0, row_end, aside[0], kLanes, false);
      settle(aside, row_end - row0, std::min<std::uint64_t>(kLanes, p.outputs - panel * kLanes),
             out + panel * kLanes, p.out_stride, p.add);
    }
  }
}

void MultiplyBf16(const PanelProduct& p) {
#if HWY_TARGET == HWY_AVX3_DL
  if (has_bf16_dots()) return multiply_pairs<DotTile>(p);
#endif
  multiply_pairs<WidenedTile>(p);
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
