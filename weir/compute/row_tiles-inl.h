/// Cutting activation rows into tiles whose size is a compile-time number.
///
/// Included once per target: per-target include guard, no #pragma once.

#if defined(WEIR_COMPUTE_ROW_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_COMPUTE_ROW_TILES_INL_H_
#undef WEIR_COMPUTE_ROW_TILES_INL_H_
#else
#define WEIR_COMPUTE_ROW_TILES_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "weir/compute/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {

/// f<M>() with M = count. REQUIRES: 1 <= count <= kMost.
template <int kMost, class F>
WEIR_INLINE void with_rows(std::uint64_t count, const F& f) {
  if constexpr (kMost > 1) {
    if (count < kMost) return with_rows<kMost - 1>(count, f);
  }
  f.template operator()<kMost>();
}

/// f<M>(row) over [row0, row_end) in the fewest tiles of at most kMost rows, as equal as they can
/// be: a tile of one or two rows takes almost as long as a full one.
template <int kMost, class F>
WEIR_INLINE void for_tiles(std::uint64_t row0, std::uint64_t row_end, const F& f) {
  for (std::uint64_t tiles = (row_end - row0 + kMost - 1) / kMost; tiles > 0; --tiles) {
    const std::uint64_t count = (row_end - row0 + tiles - 1) / tiles;
    with_rows<kMost>(count, [&]<int M>() { f.template operator()<M>(row0); });
    row0 += count;
  }
}

/// Moves, or adds, the first `lanes` lanes of every row of `from` to `out`.
WEIR_INLINE void settle(const float (*from)[kLanes], std::uint64_t rows, std::uint64_t lanes,
                        float* out, std::uint64_t out_stride, bool add_to_out) {
  for (std::uint64_t row = 0; row < rows; ++row, out += out_stride) {
    if (!add_to_out) {
      std::memcpy(out, from[row], lanes * sizeof(float));
    } else if (lanes == kLanes) {
      store(add(load(from[row]), load(out)), out);
    } else {
      for (std::uint64_t i = 0; i < lanes; ++i) out[i] += from[row][i];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
