#pragma once

/// The numbers GGUF gives tensor types (the GGUF specification, "ggml_type") and Weir's names for
/// them. Thread safety: pure functions.

#include <cstdint>
#include <optional>
#include <string>

#include "weir/spec/dtype.h"

namespace weir::format {

[[nodiscard]] std::optional<DType> gguf_dtype(std::uint32_t type);

/// "IQ2_XXS (type 16)", for types that are not read; also those never used in files or removed.
[[nodiscard]] std::string gguf_type_name(std::uint32_t type);

}  // namespace weir::format
