#pragma once

/// The safetensors format (the specification in the README of huggingface/safetensors): eight bytes
/// of header length, a JSON header, then the tensors' bytes without gap or overlap. Thread safety:
/// pure functions over bytes.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "weir/base/result.h"
#include "weir/format/model_file.h"

namespace weir::format {

/// Parses bytes that the caller keeps alive. The header's own `__metadata__` texts become metadata
/// under
/// "__metadata__.KEY". Errors name the tensor or the offset.
[[nodiscard]] Result<std::unique_ptr<ModelFile>> parse_safetensors(
    std::string path, std::span<const std::byte> bytes);

}  // namespace weir::format
