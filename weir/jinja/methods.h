#pragma once

/// The methods of str, dict, list, tuple and friends that a template may call.
/// Thread safety: as Heap.

#include <string_view>

#include "weir/jinja/value.h"

namespace weir::jinja {

/// nullptr when the type has no such method.
[[nodiscard]] FunctionObject::Native find_method(const Value& object, std::string_view name);
/// Methods that would change a list or dict: the immutable sandbox hides them.
[[nodiscard]] bool is_mutator(const Value& object, std::string_view name);

}  // namespace weir::jinja
