#pragma once

/// The safetensors reader under parse_safetensors: contents that mappings and shards can be added
/// to.

#include <cstddef>
#include <span>
#include <string>

#include "weir/base/result.h"
#include "weir/format/internal/contents.h"

namespace weir::format {

[[nodiscard]] Result<Contents> read_safetensors(std::string path, std::span<const std::byte> bytes);

}  // namespace weir::format
