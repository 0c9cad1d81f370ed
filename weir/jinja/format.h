#pragma once

/// Python's two ways to format: "..." % values and "...".format(values), for the types a template
/// has. Thread safety: as Heap.

#include "weir/jinja/value.h"

namespace weir::jinja {

/// `format % argument`; a tuple is several values, a dict serves %(name)s.
[[nodiscard]] Result<Value> format_percent(Heap& heap, const Value& format, const Value& argument);

/// str.format(), with the sandbox's rules for .attribute and [item].
[[nodiscard]] Result<Value> format_braces(Heap& heap, const Value& format, const Arguments& args);

/// int(text, base) and float(text) as Python reads them (surrounding space, _ between digits).
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text, int base);
[[nodiscard]] std::optional<double> parse_real(std::string_view text);

}  // namespace weir::jinja
