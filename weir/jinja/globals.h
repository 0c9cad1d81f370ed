#pragma once

/// The functions every template may call: range, dict, namespace, cycler, joiner, raise_exception,
/// strftime_now.
/// Thread safety: as Heap.

#include <cstdint>
#include <string_view>

#include "weir/jinja/value.h"

namespace weir::jinja {

/// nullopt: there is no such global. `unix_seconds` is the time that strftime_now shows.
[[nodiscard]] std::optional<Value> find_global(Heap& heap, std::string_view name,
                                               std::int64_t unix_seconds);
/// Calls a function, method, cycler method or joiner.
[[nodiscard]] Result<Value> call_native(Heap& heap, const Value& function, const Arguments& args);

}  // namespace weir::jinja
