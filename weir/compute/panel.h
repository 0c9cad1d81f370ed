#pragma once

/// How quantised weights lie in memory: panels of 16 output rows, so that one vector lane owns one
/// row. Internal to the folder: pack.cc writes panels, the matmul kernels read them.
///
/// A panel is blocks of 32 columns one after another; the types whose scales come in two levels
/// have, before each 8 blocks (256 columns), a header with the outer scales:
///
///     [header]  d f16[16] (, -dmin f16[16])
///     block:    codes | scales
///
/// Codes of a block are 8 vectors of 64 bytes; byte 4 r + t of vector j is the code of row r,
/// column 4 j + t: the shape that byte dot products (maddubs, vpdpbusd) take with 4 activations
/// broadcast. They are stored in planes of few bits, so that no type grows:
///
///     nibbles  256 B  byte i of vector j < 4 holds vector j low, vector j + 4 high
///     pairs    128 B  byte i of half h holds vectors 4 h .. 4 h + 3, two bits each
///     bits      64 B  byte i holds bit j for vector j
///
/// Scales of a block:
///     kD     d f16[16]                        w = d (q - offset)
///     kDM    d f16[16], m f16[16]             w = d q + m
///     k32M   s u8[16], n u8[16]               w = (d s) q + (-dmin n)
///     k16    s s8[2][16], per 16 columns      w = (d s) (q - offset)
///     k16M   s u8[2][16], n u8[2][16]         w = (d s) q + (-dmin n)
/// The products d s and dmin n have at most 19 significant bits: exact in float.

#include <cstdint>

#include "weir/spec/dtype.h"

namespace weir::compute {

inline constexpr std::uint64_t kBlockColumns = 32;
inline constexpr std::uint64_t kChunkColumns =
    256;  ///< What kernels unpack at a time; a K-quant block.
inline constexpr std::uint64_t kChunkBlocks = kChunkColumns / kBlockColumns;

enum class Codes : std::uint8_t {
  kU2,     ///< pairs
  kU3,     ///< pairs, bits
  kU4,     ///< nibbles
  kU5,     ///< nibbles, bits
  kU6,     ///< nibbles, pairs
  kS8,     ///< 512 signed bytes, vector after vector
  kTable,  ///< nibbles that index IQ4_NL's 16 signed values
};

enum class Scales : std::uint8_t { kD, kDM, k32M, k16, k16M };

struct PanelFormat {
  Codes codes;
  Scales scales;
  int offset;  ///< 0 or a power of two.

  [[nodiscard]] constexpr std::uint64_t code_bytes() const {
    switch (codes) {
      case Codes::kU2:
        return 128;
      case Codes::kU3:
        return 128 + 64;
      case Codes::kU4:
      case Codes::kTable:
        return 256;
      case Codes::kU5:
        return 256 + 64;
      case Codes::kU6:
        return 256 + 128;
      case Codes::kS8:
        break;
    }
    return 512;
  }
  [[nodiscard]] constexpr std::uint64_t block_bytes() const {
    const bool wide = scales == Scales::kDM || scales == Scales::k16M;
    return code_bytes() + (wide ? 64 : 32);
  }
  [[nodiscard]] constexpr std::uint64_t header_bytes() const {
    if (scales == Scales::k16) return 32;
    return scales == Scales::k32M || scales == Scales::k16M ? 64 : 0;
  }
  [[nodiscard]] constexpr std::uint64_t chunk_bytes() const {
    return header_bytes() + kChunkBlocks * block_bytes();
  }
  /// Of one panel. REQUIRES: columns is whole blocks (whole chunks when there is a header).
  [[nodiscard]] constexpr std::uint64_t panel_bytes(std::uint64_t columns) const {
    const std::uint64_t headers = header_bytes() == 0 ? 0 : columns / kChunkColumns;
    return headers * header_bytes() + columns / kBlockColumns * block_bytes();
  }
  /// Columns that share one float scale.
  [[nodiscard]] constexpr int group() const {
    return scales == Scales::k16 || scales == Scales::k16M ? 16 : 32;
  }
  [[nodiscard]] constexpr bool has_minimum() const {
    return scales == Scales::kDM || scales == Scales::k32M || scales == Scales::k16M;
  }
};

/// REQUIRES: `type` is a quantised weight type.
[[nodiscard]] constexpr PanelFormat panel_format(DType type) {
  switch (type) {
    case DType::kQ4_0:
      return {Codes::kU4, Scales::kD, 8};
    case DType::kQ4_1:
      return {Codes::kU4, Scales::kDM, 0};
    case DType::kQ5_0:
      return {Codes::kU5, Scales::kD, 16};
    case DType::kQ5_1:
      return {Codes::kU5, Scales::kDM, 0};
    case DType::kQ2_K:
      return {Codes::kU2, Scales::k16M, 0};
    case DType::kQ3_K:
      return {Codes::kU3, Scales::k16, 4};
    case DType::kQ4_K:
      return {Codes::kU4, Scales::k32M, 0};
    case DType::kQ5_K:
      return {Codes::kU5, Scales::k32M, 0};
    case DType::kQ6_K:
      return {Codes::kU6, Scales::k16, 32};
    case DType::kIQ4_NL:
      return {Codes::kTable, Scales::kD, 0};
    default:
      break;
  }
  return {Codes::kS8, Scales::kD, 0};  // Q8_0
}

// No type takes more room than in its file, 16 rows of blocks.
static_assert(panel_format(DType::kQ4_1).panel_bytes(32) == 16 * 20);
static_assert(panel_format(DType::kQ8_0).panel_bytes(32) == 16 * 34);
static_assert(panel_format(DType::kQ5_0).panel_bytes(32) == 16 * 22);
static_assert(panel_format(DType::kQ6_K).panel_bytes(256) == 16 * 210);
static_assert(panel_format(DType::kQ2_K).panel_bytes(256) == 16 * 84 + 16 * 16);  // s, n as bytes.
static_assert(panel_format(DType::kQ3_K).panel_bytes(256) == 16 * 110 + 16 * 4);
static_assert(panel_format(DType::kQ4_K).panel_bytes(256) == 16 * 144 + 16 * 4);
static_assert(panel_format(DType::kQ5_K).panel_bytes(256) == 16 * 176 + 16 * 4);

}  // namespace weir::compute
