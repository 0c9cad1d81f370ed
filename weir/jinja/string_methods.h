#pragma once

/// The methods of str.
/// Thread safety: as Heap.

#include <string_view>

#include "weir/jinja/value.h"

namespace weir::jinja {

[[nodiscard]] FunctionObject::Native find_string_method(std::string_view name);

}  // namespace weir::jinja
