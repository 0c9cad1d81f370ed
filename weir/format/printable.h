#pragma once

/// Text of unknown origin made fit for one line of a terminal or an error message: control
/// characters and escape sequences cannot reach the terminal, invalid UTF-8 becomes U+FFFD, long
/// text is cut. Thread safety: pure functions.

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::format {

/// At most about `max_bytes` of `text` ("..." when cut); control characters as \n, \t or \xNN.
[[nodiscard]] std::string printable(std::string_view text, std::size_t max_bytes = 80);

/// printable() between single quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace weir::format
