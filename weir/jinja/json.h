#pragma once

/// JSON text to values, for what a conversation carries (tool schemas, call arguments): RFC 8259,
/// nothing more. Key order is kept; the last of equal keys wins; everything is marked untrusted.
/// Bounds: kMaxValueDepth of nesting, and the heap's budget.
/// Thread safety: as Heap.

#include <string_view>

#include "weir/jinja/value.h"

namespace weir::jinja {

/// Code::kInvalidArgument with the byte position of what is wrong.
[[nodiscard]] Result<Value> parse_json(Heap& heap, std::string_view text);

}  // namespace weir::jinja
