#pragma once

/// GGUF versions 2 and 3, little endian (the GGUF specification of the ggml project).
/// Thread safety: pure functions over bytes.

#include <memory>

#include "weir/format/model_file.h"

namespace weir::format {

/// Parses bytes that the caller keeps alive; what open_model_file and the fuzz target call.
/// Errors name the field and its offset in the file.
[[nodiscard]] Result<std::unique_ptr<ModelFile>> parse_gguf(std::string path,
                                                            std::span<const std::byte> bytes);

}  // namespace weir::format
