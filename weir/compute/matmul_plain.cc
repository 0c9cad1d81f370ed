#include <algorithm>
#include <cstring>

#include "weir/compute/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/matmul_plain.cc"
#include <hwy/foreach_target.h>

#include "weir/compute/outer-inl.h"
#include "weir/compute/row_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {

/// Columns of a panel that all rows pass over before the next: 16 KiB of floats, half of L1.
inline constexpr std::uint64_t kStretch = 256;
inline constexpr std::uint64_t kTileRows = 6;

/// M rows x P panels over columns [k0, k0 + n): out holds the sums between stretches.
template <DType kType, int M, int P>
void tile(const PanelProduct& p, std::uint64_t panel, std::uint64_t row, std::uint64_t k0,
          std::uint64_t n) {
  const Stored<kType>* w[P];
  for (int i = 0; i < P; ++i) {
    w[i] = reinterpret_cast<const Stored<kType>*>(
               p.panels + (panel + static_cast<std::uint64_t>(i)) * p.panel_bytes) +
           k0 * kLanes;
  }
  const float* x[M];
  for (int m = 0; m < M; ++m) x[m] = p.x + (row + static_cast<std::uint64_t>(m)) * p.x_stride + k0;
  F32x16 sum[M][P];
  alignas(64) float edge[kLanes] = {};
  for (int m = 0; m < M; ++m) {
    for (int i = 0; i < P; ++i) {
      const std::uint64_t at = (panel + static_cast<std::uint64_t>(i)) * kLanes;
      const float* from = p.out + (row + static_cast<std::uint64_t>(m)) * p.out_stride + at;
      if (k0 == 0) {
        sum[m][i] = set(0.0F);
      } else if (p.outputs - at >= kLanes) {
        sum[m][i] = load(from);
      } else {
        std::memcpy(edge, from, (p.outputs - at) * sizeof(float));
        sum[m][i] = load(edge);
      }
    }
  }
  accumulate<kType>(w, kLanes, n, x, sum);
  for (int m = 0; m < M; ++m) {
    for (int i = 0; i < P; ++i) {
      const std::uint64_t at = (panel + static_cast<std::uint64_t>(i)) * kLanes;
      float* to = p.out + (row + static_cast<std::uint64_t>(m)) * p.out_stride + at;
      const std::uint64_t lanes = std::min<std::uint64_t>(kLanes, p.outputs - at);
      if (lanes == kLanes && !p.add) {
        store(sum[m][i], to);
      } else {  // The last panel may have fewer outputs than lanes: nothing past them may be
                // written.
        alignas(64) float aside[1][kLanes];
        store(sum[m][i], aside[0]);
        settle(aside, 1, lanes, to, p.out_stride, p.add);
      }
    }
  }
}

/// One or two rows: several panels at once, each read from memory exactly once, whole.
template <DType kType, int M, int P>
void few_rows(const PanelProduct& p) {
  std::uint64_t panel = 0;
  for (; panel + P <= p.count; panel += P) tile<kType, M, P>(p, panel, 0, 0, p.columns);
  for (; panel < p.count; ++panel) tile<kType, M, 1>(p, panel, 0, 0, p.columns);
}

template <DType kType>
void multiply(const PanelProduct& p) {
  if (p.rows == 1) return few_rows<kType, 1, 4>(p);
  if (p.rows == 2) return few_rows<kType, 2, 2>(p);
  for (std::uint64_t panel = 0; panel < p.count; ++panel) {
    // Sums between stretches lie in `out`, which is not free for them when it is added to.
    const std::uint64_t stretch = p.add ? p.columns : kStretch;
    for (std::uint64_t k0 = 0; k0 < p.columns; k0 += stretch) {
      const std::uint64_t n = std::min(stretch, p.columns - k0);
      for (std::uint64_t row = 0; row < p.rows; row += kTileRows) {
        switch (std::min(kTileRows, p.rows - row)) {
          case 1:
            tile<kType, 1, 1>(p, panel, row, k0, n);
            break;
          case 2:
            tile<kType, 2, 1>(p, panel, row, k0, n);
            break;
          case 3:
            tile<kType, 3, 1>(p, panel, row, k0, n);
            break;
          case 4:
            tile<kType, 4, 1>(p, panel, row, k0, n);
            break;
          case 5:
            tile<kType, 5, 1>(p, panel, row, k0, n);
            break;
          default:
            tile<kType, 6, 1>(p, panel, row, k0, n);
        }
      }
    }
  }
}

void MultiplyPlain(const PanelProduct& p) {
  switch (p.type) {
    case DType::kF16:
      return multiply<DType::kF16>(p);
    default:
      return multiply<DType::kF32>(p);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compute {
HWY_EXPORT(MultiplyPlain);
void multiply_plain(const PanelProduct& p) { HWY_DYNAMIC_DISPATCH(MultiplyPlain)(p); }
}  // namespace weir::compute
#endif
