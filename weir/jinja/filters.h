#pragma once

/// Jinja's filters and tests, by name.
/// Thread safety: as Heap.

#include <string_view>

#include "weir/jinja/value.h"

namespace weir::jinja {

using Filter = Result<Value> (*)(Heap&, const Value& value, const Arguments&);
using Test = Result<bool> (*)(Heap&, const Value& value, const Arguments&);

[[nodiscard]] Filter find_filter(std::string_view name);  ///< nullptr: no such filter.
[[nodiscard]] Test find_test(std::string_view name);      ///< nullptr: no such test.

}  // namespace weir::jinja
