#include "weir/compute/dequantize.h"

#include <array>
#include <bit>
#include <cstring>

#include "weir/base/check.h"

namespace weir::compute {
namespace {

// One function a type: a block's bytes to its values. `e` is the element within the block.
using Bytes = const std::uint8_t*;

float half_at(Bytes p) { return f16_to_f32(static_cast<std::uint16_t>(p[0] | p[1] << 8)); }

int nibble(Bytes codes, int e) { return e < 16 ? codes[e] & 0xF : codes[e - 16] >> 4; }

/// The fifth bits of 32 codes, bit e of a little-endian word.
int fifth_bit(Bytes bits, int e) { return (bits[e / 8] >> (e % 8) & 1) << 4; }

void q4_0(Bytes b, float* y) {  // d, 16 bytes of nibbles
  const float d = half_at(b);
  for (int e = 0; e < 32; ++e) y[e] = d * static_cast<float>(nibble(b + 2, e) - 8);
}

void q4_1(Bytes b, float* y) {  // d, m, nibbles
  const float d = half_at(b);
  const float m = half_at(b + 2);
  for (int e = 0; e < 32; ++e) y[e] = d * static_cast<float>(nibble(b + 4, e)) + m;
}

void q5_0(Bytes b, float* y) {  // d, 32 high bits, nibbles
  const float d = half_at(b);
  for (int e = 0; e < 32; ++e) {
    y[e] = d * static_cast<float>((nibble(b + 6, e) | fifth_bit(b + 2, e)) - 16);
  }
}

void q5_1(Bytes b, float* y) {  // d, m, 32 high bits, nibbles
  const float d = half_at(b);
  const float m = half_at(b + 2);
  for (int e = 0; e < 32; ++e) {
    y[e] = d * static_cast<float>(nibble(b + 8, e) | fifth_bit(b + 4, e)) + m;
  }
}

void q8_0(Bytes b, float* y) {  // d, 32 signed bytes
  const float d = half_at(b);
  for (int e = 0; e < 32; ++e) y[e] = d * static_cast<float>(static_cast<std::int8_t>(b[2 + e]));
}

void iq4_nl(Bytes b, float* y) {  // d, nibbles that index a fixed table
  static constexpr std::array<std::int8_t, 16> kValues = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                          1,    13,   25,  38,  53,  69,  89,  113};
  const float d = half_at(b);
  for (int e = 0; e < 32; ++e) {
    y[e] = d * static_cast<float>(kValues[static_cast<std::size_t>(nibble(b + 2, e))]);
  }
}

/// Two-bit codes of 256 elements: 128 of them share 32 bytes, 32 elements a bit pair.
int two_bits(Bytes codes, int e) { return codes[e / 128 * 32 + e % 32] >> (e % 128 / 32 * 2) & 3; }

void q2_k(Bytes b, float* y) {  // 16 scale/minimum nibble pairs, codes, d, dmin
  const float d = half_at(b + 80);
  const float dmin = half_at(b + 82);
  for (int e = 0; e < 256; ++e) {
    const float scale = d * static_cast<float>(b[e / 16] & 0xF);
    const float minimum = dmin * static_cast<float>(b[e / 16] >> 4);
    y[e] = scale * static_cast<float>(two_bits(b + 16, e)) - minimum;
  }
}

void q3_k(Bytes b, float* y) {  // 256 inverted high bits, codes, 16 six-bit scales, d
  const Bytes scales = b + 96;
  const float d = half_at(b + 108);
  for (int e = 0; e < 256; ++e) {
    const int group = e / 16;
    const int low = scales[group % 8] >> (group / 8 * 4) & 0xF;
    const int high = scales[8 + group % 4] >> (group / 4 * 2) & 3;
    const float scale = d * static_cast<float>((low | high << 4) - 32);
    const int code = two_bits(b + 32, e) - ((b[e % 32] >> (e / 32) & 1) != 0 ? 0 : 4);
    y[e] = scale * static_cast<float>(code);
  }
}

struct ScaleMin {
  int scale, minimum;
};

/// Eight six-bit scales and minima in 12 bytes: the low four of each whole, the rest's high bits
/// above them.
ScaleMin scale_min(Bytes s, int group) {
  if (group < 4) return {s[group] & 0x3F, s[group + 4] & 0x3F};
  const int i = group - 4;
  return {(s[i + 8] & 0xF) | (s[i] >> 6) << 4, s[i + 8] >> 4 | (s[i + 4] >> 6) << 4};
}

void q4_k(Bytes b, float* y) {  // d, dmin, scales and minima, nibbles
  const float d = half_at(b);
  const float dmin = half_at(b + 2);
  for (int e = 0; e < 256; ++e) {
    const int group = e / 32;
    const auto [scale, minimum] = scale_min(b + 4, group);
    const int code = b[16 + group / 2 * 32 + e % 32] >> (group % 2 * 4) & 0xF;
    y[e] = d * static_cast<float>(scale) * static_cast<float>(code) -
           dmin * static_cast<float>(minimum);
  }
}

void q5_k(Bytes b, float* y) {  // d, dmin, scales and minima, 256 high bits, nibbles
  const float d = half_at(b);
  const float dmin = half_at(b + 2);
  for (int e = 0; e < 256; ++e) {
    const int group = e / 32;
    const auto [scale, minimum] = scale_min(b + 4, group);
    const int low = b[48 + group / 2 * 32 + e % 32] >> (group % 2 * 4) & 0xF;
    const int code = low | (b[16 + e % 32] >> group & 1) << 4;
    y[e] = d * static_cast<float>(scale) * static_cast<float>(code) -
           dmin * static_cast<float>(minimum);
  }
}

void q6_k(Bytes b, float* y) {  // low nibbles, high bit pairs, 16 signed scales, d
  const float d = half_at(b + 208);
  for (int e = 0; e < 256; ++e) {
    const float scale = d * static_cast<float>(static_cast<std::int8_t>(b[192 + e / 16]));
    const int low = b[e / 128 * 64 + e % 64] >> (e % 128 / 64 * 4) & 0xF;
    y[e] = scale * static_cast<float>((low | two_bits(b + 128, e) << 4) - 32);
  }
}

void f32(Bytes b, float* y) { std::memcpy(y, b, 4); }
void f16(Bytes b, float* y) { *y = half_at(b); }
void bf16(Bytes b, float* y) { *y = bf16_to_f32(static_cast<std::uint16_t>(b[0] | b[1] << 8)); }

using BlockFunction = void (*)(Bytes, float*);

BlockFunction block_function(DType type) {
  switch (type) {
    case DType::kF32:
      return f32;
    case DType::kF16:
      return f16;
    case DType::kBF16:
      return bf16;
    case DType::kQ4_0:
      return q4_0;
    case DType::kQ4_1:
      return q4_1;
    case DType::kQ5_0:
      return q5_0;
    case DType::kQ5_1:
      return q5_1;
    case DType::kQ8_0:
      return q8_0;
    case DType::kQ2_K:
      return q2_k;
    case DType::kQ3_K:
      return q3_k;
    case DType::kQ4_K:
      return q4_k;
    case DType::kQ5_K:
      return q5_k;
    case DType::kQ6_K:
      return q6_k;
    case DType::kIQ4_NL:
      return iq4_nl;
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kF64:
    case DType::kU8:
    case DType::kBool:
      break;
  }
  return nullptr;
}

}  // namespace

float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000U} << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {  // Zero and subnormals: fraction * 2^-24, exact in float.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 0x1F ? 0xFF : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

float bf16_to_f32(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

void dequantize(DType type, std::span<const std::byte> blocks, std::span<float> out) {
  const BlockFunction block = block_function(type);
  WEIR_CHECK(block != nullptr, "the type may stand in a matrix product");
  const DTypeInfo& t = info(type);
  WEIR_CHECK(row_bytes(type, out.size()) == blocks.size(),
             "the blocks are exactly those of the output");
  const auto* bytes = reinterpret_cast<Bytes>(blocks.data());
  for (std::size_t e = 0; e < out.size(); e += t.block_elements, bytes += t.block_bytes)
    block(bytes, &out[e]);
}

}  // namespace weir::compute
