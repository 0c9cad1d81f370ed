#pragma once

/// From what a person wrote as a model, to a shape the planner can reckon with: a model file or
/// folder (with the bytes Weir itself would allocate), a lone config.json, or a catalogue name that
/// is already here. Reads files, fetches nothing. Errors: as format/model_file.h and
/// model/architectures.h have them. Thread safety: the main thread.

#include <optional>
#include <string>

#include "weir/base/result.h"
#include "weir/plan/registry.h"

namespace weir::cli {

/// Nothing when `text` names neither a path nor a model of the catalogue: then it is the
/// registry's.
[[nodiscard]] Result<std::optional<plan::Model>> model_of_argument(const std::string& text);

}  // namespace weir::cli
