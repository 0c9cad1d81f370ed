#include <algorithm>
#include <cstring>

#include "weir/base/check.h"
#include "weir/compute/matmul.h"
#include "weir/compute/neon_grade.h"
#include "weir/compute/panel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/matmul_quantised.cc"
#include <hwy/foreach_target.h>

#include "weir/compute/blocks-inl.h"
#include "weir/compute/row_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
WEIR_BEFORE_VNNI
namespace weir::compute {
namespace HWY_NAMESPACE {

/// Activation rows that share one unpacking and one pass over its codes: as many as the int16 sums
/// of 16 weight rows leave registers for.
inline constexpr int kTileRows = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON ? 4 : 6;
/// Rows that pass over a panel before the next panel: their codes stay in L2.
inline constexpr std::uint64_t kRowBlock = 128;

/// 16 rows x 256 columns unpacked: what every type looks like to the tile. 6 KiB, so it stays in
/// L1.
struct Chunk {
  alignas(64) std::uint8_t codes[kChunkBlocks][512];
  alignas(64) float scale[kChunkColumns / 16][kLanes];  ///< Per group of 16 or 32 columns.
  alignas(64) float minimum[kChunkColumns / 16][kLanes];
};

/// Unpacks `blocks` blocks at `p` (a header first, where the format has one).
template <DType kType>
void unpack(const std::uint8_t* p, std::uint64_t blocks, Chunk& chunk) {
  constexpr int kGroups = BlockReader<kType>::kGroups;
  BlockReader<kType> reader(p);
  reader.header();
  for (std::uint64_t b = 0; b < blocks; ++b) {
    U8x64 codes[8];
    F32x16 scale[kGroups];
    F32x16 minimum[kGroups];
    reader.next(codes, scale, minimum);
    WEIR_UNROLL for (int j = 0; j < 8; ++j) store(codes[j], chunk.codes[b] + 64 * j);
    WEIR_UNROLL for (int g = 0; g < kGroups; ++g) {
      store(scale[g], chunk.scale[kGroups * b + static_cast<std::uint64_t>(g)]);
      if constexpr (panel_format(kType).has_minimum()) {
        store(minimum[g], chunk.minimum[kGroups * b + static_cast<std::uint64_t>(g)]);
      }
    }
  }
}

constexpr int log2_of(int power) { return power <= 1 ? 0 : 1 + log2_of(power / 2); }

/// What the tile needs to know of a format. Types that share it share the code.
struct TileKind {
  Codes codes;
  int group;
  int offset;
  bool minimum;
};
constexpr TileKind tile_kind(PanelFormat f) {
  const bool is_signed = f.codes == Codes::kS8 || f.codes == Codes::kTable;
  const Codes codes = is_signed ? Codes::kS8 : f.codes <= Codes::kU4 ? Codes::kU4 : f.codes;
  return {codes, f.group(), is_signed && !kSignedCodes ? 128 : f.offset, f.has_minimum()};
}

/// Activation rows m of a tile, at the chunk's first column.
struct TileRows {
  CodeRows x;
  const float* scales;
  const float* scaled_sums;
  std::uint64_t block_stride;     ///< Of scales and scaled_sums.
  const std::int32_t* code_sums;  ///< Stride 2 block_stride.
};

/// sum[m] += one group's dots with row m: integers, then one fma with the product of the scales,
/// then one with the minimum.
template <TileKind kKind, int M>
WEIR_INLINE void add_group(I32x16 (&dots)[M], const F32x16& scale, const F32x16& minimum,
                           const TileRows& rows, std::uint64_t b, int g, F32x16 (&sum)[M]) {
  constexpr int kGroups = 32 / kKind.group;
  WEIR_UNROLL for (int m = 0; m < M; ++m) {
    const std::uint64_t block = static_cast<std::uint64_t>(m) * rows.block_stride + b;
    const std::int32_t* sums = rows.code_sums + 2 * block;
    if constexpr (kKind.offset != 0) {
      const std::int32_t codes_sum = kGroups == 2 ? sums[g] : sums[0] + sums[1];
      dots[m] = sub(dots[m], set(codes_sum << log2_of(kKind.offset)));
    }
    sum[m] = fma(to_f32(dots[m]), mul(scale, set(rows.scales[block])), sum[m]);
    if constexpr (kKind.minimum) {
      const float s =
          kGroups == 2 ? rows.scales[block] * static_cast<float>(sums[g]) : rows.scaled_sums[block];
      sum[m] = fma(minimum, set(s), sum[m]);
    }
  }
}

/// acc[m] += chunk x row m, one group after the other.
template <TileKind kKind, int M>
void tile(const Chunk& chunk, std::uint64_t blocks, const TileRows& rows, bool first, float* acc,
          std::uint64_t acc_stride) {
  constexpr int kGroups = 32 / kKind.group;
  F32x16 sum[M];
  WEIR_UNROLL for (int m = 0; m < M; ++m) {
    sum[m] = first ? set(0.0F) : load(acc + static_cast<std::uint64_t>(m) * acc_stride);
  }
  for (std::uint64_t b = 0; b < blocks; ++b) {
    WEIR_UNROLL for (int g = 0; g < kGroups; ++g) {
      I32x16 dots[M];
      dot<kKind.codes, kKind.group / 4, M>(
          chunk.codes[b] + 256 * g,
          {rows.x.codes + 32 * b + static_cast<std::uint64_t>(16 * g), rows.x.stride}, dots);
      const std::uint64_t at = b * kGroups + static_cast<std::uint64_t>(g);
      add_group<kKind>(dots, load(chunk.scale[at]), load(chunk.minimum[at]), rows, b, g, sum);
    }
  }
  WEIR_UNROLL for (int m = 0; m < M; ++m)
      store(sum[m], acc + static_cast<std::uint64_t>(m) * acc_stride);
}

/// out[m] = panel x row m, or that much more, codes unpacked in registers: the same operations in
/// the same order.
template <DType kType, int M>
void whole_panel(const std::uint8_t* panel, std::uint64_t blocks, const TileRows& rows, float* out,
                 std::uint64_t out_stride, bool add_to_out) {
  constexpr TileKind kKind = tile_kind(panel_format(kType));
  constexpr int kGroups = 32 / kKind.group;
  F32x16 sum[M];
  WEIR_UNROLL for (int m = 0; m < M; ++m) sum[m] = set(0.0F);
  BlockReader<kType> reader(panel);
  for (std::uint64_t b = 0; b < blocks; ++b) {
    if (b % kChunkBlocks == 0) reader.header();
    U8x64 codes[8];
    F32x16 scale[kGroups];
    F32x16 minimum[kGroups];
    reader.template prefetch<M>();
    reader.next(codes, scale, minimum);
    WEIR_UNROLL for (int g = 0; g < kGroups; ++g) {
      I32x16 dots[M];
      dot<kKind.group / 4, M>(
          codes + kKind.group / 4 * g,
          {rows.x.codes + 32 * b + static_cast<std::uint64_t>(16 * g), rows.x.stride}, dots);
      add_group<kKind>(dots, scale[g], minimum[g], rows, b, g, sum);
    }
  }
  WEIR_UNROLL for (int m = 0; m < M; ++m) {
    float* const to = out + static_cast<std::uint64_t>(m) * out_stride;
    store(add_to_out ? add(sum[m], load(to)) : sum[m], to);
  }
}

/// Rows [row, row + count) of a tile, at the panel's block b0.
TileRows tile_rows(const PanelProduct& p, std::uint64_t row, std::uint64_t b0) {
  const std::uint64_t all_blocks = p.columns / kBlockColumns;
  const std::uint64_t block = row * all_blocks + b0;
  return {{p.codes + block * kBlockColumns, p.columns},
          p.scales + block,
          p.scaled_sums + block,
          all_blocks,
          p.code_sums + 2 * block};
}

/// One panel, rows [row0, row_end), codes unpacked once for all rows, a chunk of columns at a time.
/// `out` [rows, out_stride] has room for kLanes outputs.
template <DType kType>
void by_chunks(const PanelProduct& p, const std::uint8_t* panel, std::uint64_t row0,
               std::uint64_t row_end, float* out, std::uint64_t out_stride) {
  constexpr PanelFormat f = panel_format(kType);
  const std::uint64_t all_blocks = p.columns / kBlockColumns;
  Chunk chunk;
  for (std::uint64_t b0 = 0; b0 < all_blocks; b0 += kChunkBlocks, panel += f.chunk_bytes()) {
    const std::uint64_t blocks = std::min(kChunkBlocks, all_blocks - b0);
    unpack<kType>(panel, blocks, chunk);
    for_tiles<kTileRows>(row0, row_end, [&]<int M>(std::uint64_t row) {
      tile<tile_kind(f), M>(chunk, blocks, tile_rows(p, row, b0), b0 == 0,
                            out + (row - row0) * out_stride, out_stride);
    });
  }
}

/// The same, codes unpacked anew for each tile of rows.
template <DType kType>
void by_tiles(const PanelProduct& p, const std::uint8_t* panel, std::uint64_t row0,
              std::uint64_t row_end, float* out, std::uint64_t out_stride, bool add_to_out) {
  for_tiles<kTileRows>(row0, row_end, [&]<int M>(std::uint64_t row) {
    whole_panel<kType, M>(panel, p.columns / kBlockColumns, tile_rows(p, row, 0),
                          out + (row - row0) * out_stride, out_stride, add_to_out);
  });
}

template <DType kType>
void multiply(const PanelProduct& p) {
  alignas(64) float aside[kRowBlock][kLanes];
  for (std::uint64_t row0 = 0; row0 < p.rows; row0 += kRowBlock) {
    const std::uint64_t row_end = std::min(p.rows, row0 + kRowBlock);
    for (std::uint64_t panel = 0; panel < p.count; ++panel) {
      const auto* source = reinterpret_cast<const std::uint8_t*>(p.panels + panel * p.panel_bytes);
      float* out = p.out + row0 * p.out_stride + panel * kLanes;
      const std::uint64_t lanes = std::min<std::uint64_t>(kLanes, p.outputs - panel * kLanes);
      // The last panel may have fewer outputs than lanes: nothing past them may be written.
      const bool straight = lanes == kLanes && (kCodesInRegisters || !p.add);
      float* to = straight ? out : aside[0];
      const std::uint64_t stride = straight ? p.out_stride : kLanes;
      if constexpr (kCodesInRegisters) {
        by_tiles<kType>(p, source, row0, row_end, to, stride, straight && p.add);
      } else {
        by_chunks<kType>(p, source, row0, row_end, to, stride);
      }
      if (!straight) settle(aside, row_end - row0, lanes, out, p.out_stride, p.add);
    }
  }
}

void MultiplyQuantised(const PanelProduct& p) {
  switch (p.type) {
    case DType::kQ4_0:
      return multiply<DType::kQ4_0>(p);
    case DType::kQ4_1:
      return multiply<DType::kQ4_1>(p);
    case DType::kQ5_0:
      return multiply<DType::kQ5_0>(p);
    case DType::kQ5_1:
      return multiply<DType::kQ5_1>(p);
    case DType::kQ8_0:
      return multiply<DType::kQ8_0>(p);
    case DType::kQ2_K:
      return multiply<DType::kQ2_K>(p);
    case DType::kQ3_K:
      return multiply<DType::kQ3_K>(p);
    case DType::kQ4_K:
      return multiply<DType::kQ4_K>(p);
    case DType::kQ5_K:
      return multiply<DType::kQ5_K>(p);
    case DType::kQ6_K:
      return multiply<DType::kQ6_K>(p);
    case DType::kIQ4_NL:
      return multiply<DType::kIQ4_NL>(p);
    default:
      WEIR_CHECK(false, "a plain type has no codes");
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE && !WEIR_NEON_GRADE  // The grades of NEON compile the kernels only (neon_again-inl.h).
namespace weir::compute {
HWY_EXPORT(MultiplyQuantised);
void multiply_quantised(const PanelProduct& p) {
  if (const NeonGrade* grade = neon_grade()) return grade->multiply_quantised(p);
  HWY_DYNAMIC_DISPATCH(MultiplyQuantised)(p);
}
}  // namespace weir::compute
#endif
