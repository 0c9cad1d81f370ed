#pragma once

/// How keys and values may be kept, and what people call it.
/// Thread safety: pure functions.

#include <optional>
#include <string_view>

#include "weir/spec/dtype.h"

namespace weir {

/// What they are kept in unless somebody says otherwise; docs/performance.md compares the types.
inline constexpr DType kDefaultKvType = DType::kBF16;

/// For help and refusals.
inline constexpr std::string_view kKvTypeNames = "f32, f16, bf16 or int8";

[[nodiscard]] constexpr bool is_kv_type(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16 || type == DType::kI8;
}

/// One of kKvTypeNames.
[[nodiscard]] constexpr std::optional<DType> kv_type_named(std::string_view name) {
  if (name == "f32") return DType::kF32;
  if (name == "f16") return DType::kF16;
  if (name == "bf16") return DType::kBF16;
  if (name == "int8") return DType::kI8;
  return std::nullopt;
}

/// REQUIRES: is_kv_type(type).
[[nodiscard]] constexpr std::string_view kv_type_name(DType type) {
  return type == DType::kF32    ? "f32"
         : type == DType::kF16  ? "f16"
         : type == DType::kBF16 ? "bf16"
                                : "int8";
}

}  // namespace weir
