#include "weir/compute/pack.h"

#include <array>
#include <cstring>

#include "weir/base/check.h"
#include "weir/base/math.h"
#include "weir/compute/linear.h"
#include "weir/compute/panel.h"

namespace weir::compute {
namespace {

using Bytes = const std::uint8_t*;

/// One row's file block in common terms; for 32-column types only the first 32 codes and no scales.
struct RowBlock {
  std::array<std::uint8_t, kChunkColumns> codes;
  std::uint16_t d = 0, m = 0;          ///< f16; m is m or -dmin.
  std::array<std::uint8_t, 16> scale;  ///< Per 16 or 32 columns.
  std::array<std::uint8_t, 16> minimum;
};

std::uint16_t half_at(Bytes p) { return static_cast<std::uint16_t>(p[0] | p[1] << 8); }
std::uint16_t negated(std::uint16_t half) { return half ^ 0x8000; }

void read_nibbles(Bytes q, std::uint8_t* codes) {
  for (int i = 0; i < 16; ++i) {
    codes[i] = q[i] & 15;
    codes[i + 16] = q[i] >> 4;
  }
}

void read_fifth_bits(Bytes bits, std::uint8_t* codes) {
  for (int i = 0; i < 32; ++i)
    codes[i] |= static_cast<std::uint8_t>((bits[i / 8] >> (i % 8) & 1) << 4);
}

/// 128 columns share 32 bytes, 32 columns a bit pair.
void read_pairs(Bytes q, std::uint8_t* codes) {
  for (int i = 0; i < 256; ++i) codes[i] = q[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
}

/// Eight six-bit scales and minima in 12 bytes (Q4_K, Q5_K).
void read_scales_32(Bytes s, RowBlock& b) {
  for (unsigned j = 0; j < 4; ++j) {
    b.scale[j] = s[j] & 63;
    b.minimum[j] = s[j + 4] & 63;
    b.scale[j + 4] = static_cast<std::uint8_t>((s[j + 8] & 15) | (s[j] >> 6) << 4);
    b.minimum[j + 4] = static_cast<std::uint8_t>(s[j + 8] >> 4 | (s[j + 4] >> 6) << 4);
  }
}

void read_k_nibbles(Bytes q, std::uint8_t* codes) {
  for (int i = 0; i < 256; ++i) codes[i] = q[i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4) & 15;
}

/// Block layouts: ggml's ggml-common.h; dequantize.cc reads the same bytes, and tests compare the
/// two.
void read_block(DType type, Bytes p, RowBlock& b) {
  std::uint8_t* codes = b.codes.data();
  switch (type) {
    case DType::kQ4_0:
    case DType::kIQ4_NL:
      b.d = half_at(p);
      read_nibbles(p + 2, codes);
      return;
    case DType::kQ4_1:
      b.d = half_at(p);
      b.m = half_at(p + 2);
      read_nibbles(p + 4, codes);
      return;
    case DType::kQ5_0:
      b.d = half_at(p);
      read_nibbles(p + 6, codes);
      read_fifth_bits(p + 2, codes);
      return;
    case DType::kQ5_1:
      b.d = half_at(p);
      b.m = half_at(p + 2);
      read_nibbles(p + 8, codes);
      read_fifth_bits(p + 4, codes);
      return;
    case DType::kQ8_0:
      b.d = half_at(p);
      std::memcpy(codes, p + 2, 32);
      return;
    case DType::kQ2_K:
      for (unsigned i = 0; i < 16; ++i) {
        b.scale[i] = p[i] & 15;
        b.minimum[i] = p[i] >> 4;
      }
      read_pairs(p + 16, codes);
      b.d = half_at(p + 80);
      b.m = negated(half_at(p + 82));
      return;
    case DType::kQ3_K:
      read_pairs(p + 32, codes);
      for (int i = 0; i < 256; ++i)
        codes[i] |= static_cast<std::uint8_t>((p[i % 32] >> (i / 32) & 1) << 2);
      for (unsigned i = 0; i < 16; ++i) {
        const int low = p[96 + i % 8] >> (i / 8 * 4) & 15;
        const int high = p[104 + i % 4] >> (i / 4 * 2) & 3;
        b.scale[i] =
            static_cast<std::uint8_t>((low | high << 4) - 32);  // Signed, kept as its byte.
      }
      b.d = half_at(p + 108);
      return;
    case DType::kQ4_K:
      b.d = half_at(p);
      b.m = negated(half_at(p + 2));
      read_scales_32(p + 4, b);
      read_k_nibbles(p + 16, codes);
      return;
    case DType::kQ5_K:
      b.d = half_at(p);
      b.m = negated(half_at(p + 2));
      read_scales_32(p + 4, b);
      read_k_nibbles(p + 48, codes);
      for (int i = 0; i < 256; ++i) {
        codes[i] |= static_cast<std::uint8_t>((p[16 + i % 32] >> (i / 32) & 1) << 4);
      }
      return;
    case DType::kQ6_K:
      for (int i = 0; i < 256; ++i) {
        const int low = p[i / 128 * 64 + i % 64] >> (i % 128 / 64 * 4) & 15;
        const int high = p[128 + i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
        codes[i] = static_cast<std::uint8_t>(low | high << 4);
      }
      std::memcpy(b.scale.data(), p + 192, 16);
      b.d = half_at(p + 208);
      return;
    default:
      WEIR_CHECK(false, "a plain type has no blocks");
  }
}

std::uint32_t word_at(const std::uint8_t* p) {
  std::uint32_t w;
  std::memcpy(&w, p, 4);
  return w;
}

/// ORs a word into row `row` of 64-byte vector `vector` at `plane`.
void put(std::uint8_t* plane, unsigned vector, unsigned row, std::uint32_t word) {
  std::uint8_t* p = plane + 64 * vector + 4 * row;
  word |= word_at(p);
  std::memcpy(p, &word, 4);
}

// Four codes at a time: the four columns of one row in one vector are one 32-bit word.
void put_nibbles(std::uint8_t* plane, unsigned row, const std::uint8_t* codes) {
  for (unsigned j = 0; j < 8; ++j) {
    put(plane, j % 4, row, (word_at(codes + 4 * j) & 0x0F0F0F0F) << (j / 4 * 4));
  }
}
/// Bits shift and shift + 1 of the codes.
void put_pairs(std::uint8_t* plane, unsigned row, const std::uint8_t* codes, unsigned shift) {
  for (unsigned j = 0; j < 8; ++j) {
    put(plane, j / 4, row, (word_at(codes + 4 * j) >> shift & 0x03030303) << (j % 4 * 2));
  }
}
void put_bits(std::uint8_t* plane, unsigned row, const std::uint8_t* codes, unsigned shift) {
  for (unsigned j = 0; j < 8; ++j) {
    put(plane, 0, row, (word_at(codes + 4 * j) >> shift & 0x01010101) << j);
  }
}

void put_codes(Codes kind, std::uint8_t* block, unsigned row, const std::uint8_t* codes) {
  switch (kind) {
    case Codes::kU2:
      return put_pairs(block, row, codes, 0);
    case Codes::kU3:
      put_pairs(block, row, codes, 0);
      return put_bits(block + 128, row, codes, 2);
    case Codes::kU4:
    case Codes::kTable:
      return put_nibbles(block, row, codes);
    case Codes::kU5:
      put_nibbles(block, row, codes);
      return put_bits(block + 256, row, codes, 4);
    case Codes::kU6:
      put_nibbles(block, row, codes);
      return put_pairs(block + 256, row, codes, 4);
    case Codes::kS8:
      for (unsigned j = 0; j < 8; ++j) put(block, j, row, word_at(codes + 4 * j));
      return;
  }
}

void put_half(std::uint8_t* at, unsigned row, std::uint16_t half) {
  std::memcpy(at + 2 * row, &half, 2);
}

void put_scales(const PanelFormat& f, std::uint8_t* at, unsigned row, const RowBlock& b,
                unsigned block) {
  switch (f.scales) {
    case Scales::kDM:
      put_half(at + 32, row, b.m);
      [[fallthrough]];
    case Scales::kD:
      return put_half(at, row, b.d);
    case Scales::k32M:
      at[row] = b.scale[block];
      at[16 + row] = b.minimum[block];
      return;
    case Scales::k16M:
      at[32 + row] = b.minimum[2 * block];
      at[48 + row] = b.minimum[2 * block + 1];
      [[fallthrough]];
    case Scales::k16:
      at[row] = b.scale[2 * block];
      at[16 + row] = b.scale[2 * block + 1];
  }
}

void pack_quantised(DType type, Bytes source, unsigned rows, std::uint64_t columns,
                    std::uint8_t* panel) {
  const PanelFormat f = panel_format(type);
  const std::uint64_t elements = info(type).block_elements;  // 32 or 256
  const std::uint64_t blocks_of_row = columns / elements;
  const std::uint64_t file_block = info(type).block_bytes;
  const std::uint64_t step = f.header_bytes() + elements / kBlockColumns * f.block_bytes();
  RowBlock b{};
  for (unsigned row = 0; row < rows; ++row) {
    for (std::uint64_t i = 0; i < blocks_of_row; ++i) {
      read_block(type, source + (row * blocks_of_row + i) * file_block, b);
      std::uint8_t* at = panel + i * step;
      if (f.header_bytes() != 0) put_half(at, row, b.d);
      if (f.header_bytes() == 64) put_half(at + 32, row, b.m);
      at += f.header_bytes();
      for (unsigned k = 0; k < elements / kBlockColumns; ++k, at += f.block_bytes()) {
        put_codes(f.codes, at, row, b.codes.data() + k * kBlockColumns);
        put_scales(f, at + f.code_bytes(), row, b, k);
      }
    }
  }
}

/// [rows, columns] to [columns, 16].
template <class T>
void pack_plain(const std::byte* source, std::uint64_t rows, std::uint64_t columns,
                std::byte* panel) {
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t k = 0; k < columns; ++k) {
      std::memcpy(panel + (k * kPanelRows + row) * sizeof(T),
                  source + (row * columns + k) * sizeof(T), sizeof(T));
    }
  }
}

/// [rows, columns] of BF16 to [columns / 2, 16, 2], the shape that vdpbf16ps takes; an odd last
/// column gets a zero beside it.
void pack_bf16(const std::byte* source, std::uint64_t rows, std::uint64_t columns,
               std::byte* panel) {
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t k = 0; k < columns; ++k) {
      std::memcpy(panel + ((k / 2 * kPanelRows + row) * 2 + k % 2) * 2,
                  source + (row * columns + k) * 2, 2);
    }
  }
}

}  // namespace

std::uint64_t panel_bytes(DType type, std::uint64_t columns) {
  const DTypeInfo& t = info(type);
  if (type == DType::kBF16) columns = round_up<std::uint64_t>(columns, 2);
  if (t.block_elements == 1) return columns * kPanelRows * t.block_bytes;
  return panel_format(type).panel_bytes(columns);
}

void pack_panel(DType type, const std::byte* source, std::uint64_t rows, std::uint64_t columns,
                std::byte* panel) {
  if (type == DType::kBF16) return pack_bf16(source, rows, columns, panel);
  switch (info(type).block_bytes) {
    case 4:
      return pack_plain<std::uint32_t>(source, rows, columns, panel);
    case 2:
      return pack_plain<std::uint16_t>(source, rows, columns, panel);
    default:
      pack_quantised(type, reinterpret_cast<Bytes>(source), static_cast<unsigned>(rows), columns,
                     reinterpret_cast<std::uint8_t*>(panel));
  }
}

}  // namespace weir::compute
