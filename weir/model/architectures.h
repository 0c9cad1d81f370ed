#pragma once

/// The table of model families: from a file's metadata to a ModelShape, and from a ModelShape to
/// the names its tensors have in that container. A new family is an entry here and a golden test.
/// Thread safety: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/format/model_file.h"
#include "weir/spec/model_shape.h"

namespace weir::model {

/// Reads and validates. Code::kUnsupported names the architecture and lists those known.
[[nodiscard]] Result<ModelShape> read_shape(const format::ModelFile& file);

/// "llama", "qwen2", ..., for messages and docs.
[[nodiscard]] std::vector<std::string_view> known_architectures();

}  // namespace weir::model
