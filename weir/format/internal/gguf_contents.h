#pragma once

/// The GGUF reader under parse_gguf: contents that a mapping can be added to.

#include <cstddef>
#include <span>
#include <string>

#include "weir/base/result.h"
#include "weir/format/internal/contents.h"

namespace weir::format {

[[nodiscard]] Result<Contents> read_gguf(std::string path, std::span<const std::byte> bytes);

}  // namespace weir::format
