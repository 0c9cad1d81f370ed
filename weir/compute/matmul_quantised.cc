#include <algorithm>
#include <cstring>

#include "weir/base/check.h"
#include "weir/compute/matmul.h"
#include "weir/compute/panel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/matmul_quantised.cc"
#include <hwy/foreach_target.h>

#include "weir/compute/dots-inl.h"

HWY_BEFORE_NAMESPACE();
WEIR_BEFORE_VNNI
namespace weir::compute {
namespace HWY_NAMESPACE {

/// Activation rows that share one unpacking and one pass over its codes: as many as the int16 sums
/// of 16 weight rows leave registers for.
inline constexpr int kTileRows = HWY_TARGET == HWY_AVX2 ? 4 : 6;
/// Rows that pass over a panel before the next panel: their codes stay in L2.
inline constexpr std::uint64_t kRowBlock = 128;

/// 16 rows x 256 columns unpacked: what every type looks like to the tile. 6 KiB, so it stays in
/// L1.
struct Chunk {
  alignas(64) std::uint8_t codes[kChunkBlocks][512];
  alignas(64) float scale[kChunkColumns / 16][kLanes];  ///< Per group of 16 or 32 columns.
  alignas(64) float minimum[kChunkColumns / 16][kLanes];
};

/// IQ4_NL's values (ggml-common.h, kvalues_iq4nl).
alignas(16) inline constexpr std::int8_t kTableValues[16] = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

WEIR_INLINE void unpack_nibbles(const std::uint8_t* plane, U8x64 (&v)[8]) {
  WEIR_UNROLL for (int j = 0; j < 4; ++j) {
    const U8x64 both = load_bytes(plane + 64 * j);
    v[j] = shifted<0>(both, 15);
    v[j + 4] = shifted<-4>(both, 15);
  }
}

/// The pairs of the four vectors of one half, moved to bits kTo and kTo + 1.
template <int kTo>
WEIR_INLINE void unpack_pairs(const std::uint8_t* plane, U8x64* v) {
  const U8x64 all = load_bytes(plane);
  constexpr std::uint8_t mask = 3 << kTo;
  v[0] = shifted<kTo>(all, mask);
  v[1] = shifted<kTo - 2>(all, mask);
  v[2] = shifted<kTo - 4>(all, mask);
  v[3] = shifted<kTo - 6>(all, mask);
}

template <int kTo, int kVector8 = 0>
WEIR_INLINE void or_bits(const U8x64& all, U8x64 (&v)[8]) {
  if constexpr (kVector8 < 8) {
    v[kVector8] = bit_or(v[kVector8], shifted<kTo - kVector8>(all, 1 << kTo));
    or_bits<kTo, kVector8 + 1>(all, v);
  }
}

template <Codes kCodes>
WEIR_INLINE void unpack_codes(const std::uint8_t* block, std::uint8_t* out) {
  U8x64 v[8];
  if constexpr (kCodes == Codes::kS8) {
    WEIR_UNROLL for (int j = 0; j < 8; ++j) v[j] = load_bytes(block + 64 * j);
  } else if constexpr (kCodes == Codes::kU2 || kCodes == Codes::kU3) {
    unpack_pairs<0>(block, v);
    unpack_pairs<0>(block + 64, v + 4);
    if constexpr (kCodes == Codes::kU3) or_bits<2>(load_bytes(block + 128), v);
  } else {
    unpack_nibbles(block, v);
    if constexpr (kCodes == Codes::kU5) or_bits<4>(load_bytes(block + 256), v);
    if constexpr (kCodes == Codes::kU6) {
      U8x64 high[8];
      unpack_pairs<4>(block + 256, high);
      unpack_pairs<4>(block + 320, high + 4);
      WEIR_UNROLL for (int j = 0; j < 8; ++j) v[j] = bit_or(v[j], high[j]);
    }
    if constexpr (kCodes == Codes::kTable) {
      const auto* table = reinterpret_cast<const std::uint8_t*>(kTableValues);
      WEIR_UNROLL for (int j = 0; j < 8; ++j) v[j] = lookup(table, v[j]);
    }
  }
  constexpr bool kShift = (kCodes == Codes::kS8 || kCodes == Codes::kTable) && !kSignedCodes;
  WEIR_UNROLL for (int j = 0; j < 8; ++j) {
    store(kShift ? bit_xor(v[j], set_bytes(128)) : v[j], out + 64 * j);
  }
}

WEIR_INLINE const std::uint16_t* halves(const std::uint8_t* p) {
  return reinterpret_cast<const std::uint16_t*>(p);
}

/// Unpacks `blocks` blocks at `p` (a header first, where the format has one).
template <DType kType>
void unpack(const std::uint8_t* p, std::uint64_t blocks, Chunk& chunk) {
  constexpr PanelFormat f = panel_format(kType);
  F32x16 d = set(0.0F);
  F32x16 outer_minimum = d;
  if constexpr (f.header_bytes() != 0) {
    d = load_f16(halves(p));
    if constexpr (f.has_minimum()) outer_minimum = load_f16(halves(p + 32));
    p += f.header_bytes();
  }
  for (std::uint64_t b = 0; b < blocks; ++b, p += f.block_bytes()) {
    unpack_codes<f.codes>(p, chunk.codes[b]);
    const std::uint8_t* s = p + f.code_bytes();
    if constexpr (f.scales == Scales::kD || f.scales == Scales::kDM) {
      store(load_f16(halves(s)), chunk.scale[b]);
      if constexpr (f.has_minimum()) store(load_f16(halves(s + 32)), chunk.minimum[b]);
    } else if constexpr (f.scales == Scales::k32M) {
      store(mul(d, to_f32(load_u8(s))), chunk.scale[b]);
      store(mul(outer_minimum, to_f32(load_u8(s + 16))), chunk.minimum[b]);
    } else {
      for (int half = 0; half < 2; ++half, s += 16) {
        const I32x16 scale =
            f.scales == Scales::k16 ? load_s8(reinterpret_cast<const std::int8_t*>(s)) : load_u8(s);
        store(mul(d, to_f32(scale)), chunk.scale[2 * b + half]);
        if constexpr (f.has_minimum()) {
          store(mul(outer_minimum, to_f32(load_u8(s + 32))), chunk.minimum[2 * b + half]);
        }
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

/// acc[m] += chunk x row m. One group after the other: integers, then one fma with the product of
/// the scales, then one with the minimum.
template <TileKind kKind, int M>
void tile(const Chunk& chunk, std::uint64_t blocks, const TileRows& rows, bool first, float* acc,
          std::uint64_t acc_stride) {
  constexpr int kGroups = 32 / kKind.group;
  constexpr int kSteps = kKind.group / 4;
  F32x16 sum[M];
  WEIR_UNROLL for (int m = 0; m < M; ++m) {
    sum[m] = first ? set(0.0F) : load(acc + static_cast<std::uint64_t>(m) * acc_stride);
  }
  for (std::uint64_t b = 0; b < blocks; ++b) {
    WEIR_UNROLL for (int g = 0; g < kGroups; ++g) {
      I32x16 dots[M];
      dot<kKind.codes, kSteps, M>(
          chunk.codes[b] + 256 * g,
          {rows.x.codes + 32 * b + static_cast<std::uint64_t>(16 * g), rows.x.stride}, dots);
      const std::uint64_t at = b * kGroups + static_cast<std::uint64_t>(g);
      const F32x16 scale = load(chunk.scale[at]);
      WEIR_UNROLL for (int m = 0; m < M; ++m) {
        const std::uint64_t block = static_cast<std::uint64_t>(m) * rows.block_stride + b;
        const std::int32_t* sums = rows.code_sums + 2 * block;
        if constexpr (kKind.offset != 0) {
          const std::int32_t codes_sum = kGroups == 2 ? sums[g] : sums[0] + sums[1];
          dots[m] = sub(dots[m], set(codes_sum << log2_of(kKind.offset)));
        }
        sum[m] = fma(to_f32(dots[m]), mul(scale, set(rows.scales[block])), sum[m]);
        if constexpr (kKind.minimum) {
          const float s = kGroups == 2 ? rows.scales[block] * static_cast<float>(sums[g])
                                       : rows.scaled_sums[block];
          sum[m] = fma(load(chunk.minimum[at]), set(s), sum[m]);
        }
      }
    }
  }
  WEIR_UNROLL for (int m = 0; m < M; ++m)
      store(sum[m], acc + static_cast<std::uint64_t>(m) * acc_stride);
}

template <TileKind kKind>
void tile_of(std::uint64_t count, const Chunk& chunk, std::uint64_t blocks, const TileRows& rows,
             bool first, float* acc, std::uint64_t acc_stride) {
  switch (count) {
    case 1:
      return tile<kKind, 1>(chunk, blocks, rows, first, acc, acc_stride);
    case 2:
      return tile<kKind, 2>(chunk, blocks, rows, first, acc, acc_stride);
    case 3:
      return tile<kKind, 3>(chunk, blocks, rows, first, acc, acc_stride);
    case 4:
      return tile<kKind, 4>(chunk, blocks, rows, first, acc, acc_stride);
    default:
      break;
  }
  if constexpr (kTileRows > 4) {
    if (count == 5) return tile<kKind, 5>(chunk, blocks, rows, first, acc, acc_stride);
    tile<kKind, 6>(chunk, blocks, rows, first, acc, acc_stride);
  }
}

template <DType kType>
void multiply(const PanelProduct& p) {
  constexpr PanelFormat f = panel_format(kType);
  Chunk chunk;
  alignas(64) float edge[kTileRows][kLanes];
  const std::uint64_t all_blocks = p.columns / kBlockColumns;
  for (std::uint64_t row0 = 0; row0 < p.rows; row0 += kRowBlock) {
    const std::uint64_t row_end = std::min(p.rows, row0 + kRowBlock);
    for (std::uint64_t panel = 0; panel < p.count; ++panel) {
      const auto* source = reinterpret_cast<const std::uint8_t*>(p.panels + panel * p.panel_bytes);
      float* out = p.out + panel * kLanes;
      const std::uint64_t lanes = std::min<std::uint64_t>(kLanes, p.outputs - panel * kLanes);
      for (std::uint64_t b0 = 0; b0 < all_blocks; b0 += kChunkBlocks, source += f.chunk_bytes()) {
        const std::uint64_t blocks = std::min(kChunkBlocks, all_blocks - b0);
        unpack<kType>(source, blocks, chunk);
        for (std::uint64_t row = row0; row < row_end; row += kTileRows) {
          const std::uint64_t count = std::min<std::uint64_t>(kTileRows, row_end - row);
          const std::uint64_t block = row * all_blocks + b0;
          const TileRows rows = {{p.codes + block * kBlockColumns, p.columns},
                                 p.scales + block,
                                 p.scaled_sums + block,
                                 all_blocks,
                                 p.code_sums + 2 * block};
          float* to = out + row * p.out_stride;
          if (lanes == kLanes) {
            tile_of<tile_kind(f)>(count, chunk, blocks, rows, b0 == 0, to, p.out_stride);
            continue;
          }
          // The last panel has fewer outputs than lanes: nothing past them may be written.
          for (std::uint64_t m = 0; b0 != 0 && m < count; ++m) {
            std::memcpy(edge[m], to + m * p.out_stride, lanes * sizeof(float));
          }
          tile_of<tile_kind(f)>(count, chunk, blocks, rows, b0 == 0, edge[0], kLanes);
          for (std::uint64_t m = 0; m < count; ++m) {
            std::memcpy(to + m * p.out_stride, edge[m], lanes * sizeof(float));
          }
        }
      }
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

#if HWY_ONCE
namespace weir::compute {
HWY_EXPORT(MultiplyQuantised);
void multiply_quantised(const PanelProduct& p) { HWY_DYNAMIC_DISPATCH(MultiplyQuantised)(p); }
}  // namespace weir::compute
#endif
