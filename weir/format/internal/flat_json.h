#pragma once

/// A JSON object as flat metadata: {"rope": {"type": "x", "factors": [1, 2]}} gives "rope.type" and
/// the array "rope.factors". Arrays of one scalar kind stay arrays (integers beside fractions
/// become fractions); others are flattened by index, "a.0.b". null is as if absent. Thread safety:
/// pure function.

#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/format/internal/contents.h"

namespace weir::format {

/// `path` names the text in errors. A key that is there already stays as it is.
[[nodiscard]] Status flatten_json(const std::string& path, std::string_view text, Metadata& into);

}  // namespace weir::format
