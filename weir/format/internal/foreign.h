#pragma once

/// Recognises, by content, what people hand over instead of a model: so that the error says what it
/// is and what to do. Thread safety: pure function.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "weir/base/result.h"

namespace weir::format {

/// Nothing for a GGUF file or what may be a safetensors file.
[[nodiscard]] std::optional<Error> foreign_content(const std::string& path,
                                                   std::span<const std::byte> bytes);

}  // namespace weir::format
