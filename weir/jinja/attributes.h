#pragma once

/// a.b and a[b] as Jinja's immutable sandbox resolves them: attributes first for the dot, items
/// first for the brackets, an undefined value where neither exists, and an undefined value that
/// says "unsafe" for what would change a list or a dict. Thread safety: as Heap.

#include <string_view>

#include "weir/jinja/value.h"

namespace weir::jinja {

[[nodiscard]] Result<Value> get_attribute(Heap& heap, const Value& object, std::string_view name);
[[nodiscard]] Result<Value> get_item(Heap& heap, const Value& object, const Value& key);
/// The `attr` filter: attributes only.
[[nodiscard]] Result<Value> get_attribute_only(Heap& heap, const Value& object,
                                               std::string_view name);

}  // namespace weir::jinja
