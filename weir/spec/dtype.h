#pragma once

/// The element types a model file may hold, and the arithmetic of their blocks. Names and block
/// sizes are GGML's (the GGUF specification, "ggml_type"); a block is the unit that shares scales.
/// Thread safety: pure functions.

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

enum class DType : std::uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kI8,
  kI16,
  kI32,
  kI64,
  kF64,
  kU8,
  kBool,
};
inline constexpr int kDTypeCount = static_cast<int>(DType::kBool) + 1;

struct DTypeInfo {
  std::string_view name;         ///< "Q4_K", as files and people write it.
  std::uint32_t block_elements;  ///< Elements in a block; 1 for plain types.
  std::uint32_t block_bytes;
  bool weight;  ///< May stand in a matrix product.
};

[[nodiscard]] const DTypeInfo& info(DType type);
[[nodiscard]] std::optional<DType> dtype_named(std::string_view name);

/// Bytes of a row of `elements`; nothing when it is not whole blocks or overflows.
[[nodiscard]] std::optional<std::uint64_t> row_bytes(DType type, std::uint64_t elements);

}  // namespace weir
