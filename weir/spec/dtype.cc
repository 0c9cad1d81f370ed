#include "weir/spec/dtype.h"

#include <array>

#include "weir/base/math.h"

namespace weir {
namespace {

constexpr std::array<DTypeInfo, kDTypeCount> kInfo = {{
    {"F32", 1, 4, true},
    {"F16", 1, 2, true},
    {"BF16", 1, 2, true},
    {"Q4_0", 32, 2 + 16, true},      // f16 d, 32 nibbles
    {"Q4_1", 32, 2 + 2 + 16, true},  // f16 d, f16 m, 32 nibbles
    {"Q5_0", 32, 2 + 4 + 16, true},  // f16 d, 32 high bits, 32 nibbles
    {"Q5_1", 32, 2 + 2 + 4 + 16, true},
    {"Q8_0", 32, 2 + 32, true},
    {"Q2_K", 256, 16 + 64 + 2 + 2, true},  // 16 scale/min nibble pairs, 2-bit codes, d, dmin
    {"Q3_K", 256, 32 + 64 + 12 + 2, true},
    {"Q4_K", 256, 2 + 2 + 12 + 128, true},
    {"Q5_K", 256, 2 + 2 + 12 + 32 + 128, true},
    {"Q6_K", 256, 128 + 64 + 16 + 2, true},
    {"IQ4_NL", 32, 2 + 16, true},
    {"I8", 1, 1, false},
    {"I16", 1, 2, false},
    {"I32", 1, 4, false},
    {"I64", 1, 8, false},
    {"F64", 1, 8, false},
    {"U8", 1, 1, false},
    {"BOOL", 1, 1, false},
}};

}  // namespace

const DTypeInfo& info(DType type) { return kInfo[static_cast<std::size_t>(type)]; }

std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kInfo[static_cast<std::size_t>(i)].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> row_bytes(DType type, std::uint64_t elements) {
  const DTypeInfo& t = info(type);
  if (elements % t.block_elements != 0) return std::nullopt;
  return checked_mul<std::uint64_t>(elements / t.block_elements, t.block_bytes);
}

}  // namespace weir
