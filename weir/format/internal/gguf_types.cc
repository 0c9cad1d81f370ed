#include "weir/format/internal/gguf_types.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace weir::format {
namespace {

struct GgufType {
  std::string_view name;
  std::optional<DType> type = std::nullopt;
};

constexpr std::array<GgufType, 42> kTypes = {{
    {"F32", DType::kF32},
    {"F16", DType::kF16},
    {"Q4_0", DType::kQ4_0},
    {"Q4_1", DType::kQ4_1},
    {"Q4_2, which GGML removed in 2023"},
    {"Q4_3, which GGML removed in 2023"},
    {"Q5_0", DType::kQ5_0},
    {"Q5_1", DType::kQ5_1},
    {"Q8_0", DType::kQ8_0},
    {"Q8_1"},
    {"Q2_K", DType::kQ2_K},
    {"Q3_K", DType::kQ3_K},
    {"Q4_K", DType::kQ4_K},
    {"Q5_K", DType::kQ5_K},
    {"Q6_K", DType::kQ6_K},
    {"Q8_K"},
    {"IQ2_XXS"},
    {"IQ2_XS"},
    {"IQ3_XXS"},
    {"IQ1_S"},
    {"IQ4_NL", DType::kIQ4_NL},
    {"IQ3_S"},
    {"IQ2_S"},
    {"IQ4_XS"},
    {"I8", DType::kI8},
    {"I16", DType::kI16},
    {"I32", DType::kI32},
    {"I64", DType::kI64},
    {"F64", DType::kF64},
    {"IQ1_M"},
    {"BF16", DType::kBF16},
    {"Q4_0_4_4, which GGML removed"},
    {"Q4_0_4_8, which GGML removed"},
    {"Q4_0_8_8, which GGML removed"},
    {"TQ1_0"},
    {"TQ2_0"},
    {"IQ4_NL_4_4, which GGML removed"},
    {"IQ4_NL_4_8, which GGML removed"},
    {"IQ4_NL_8_8, which GGML removed"},
    {"MXFP4"},
    {"NVFP4"},
    {"Q1_0"},
}};
static_assert(kTypes[30].type == DType::kBF16 && kTypes[20].type == DType::kIQ4_NL);

}  // namespace

std::optional<DType> gguf_dtype(std::uint32_t type) {
  return type < kTypes.size() ? kTypes[type].type : std::nullopt;
}

std::string gguf_type_name(std::uint32_t type) {
  if (type < kTypes.size()) return fmt::format("{} (type {})", kTypes[type].name, type);
  return fmt::format("{}, a number no GGML type has", type);
}

}  // namespace weir::format
