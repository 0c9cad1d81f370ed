#pragma once

/// Text made safe to stand inside HTML and SVG. Thread safety: pure functions.

#include <string>
#include <string_view>

namespace weir::plan {

/// &, <, > and " escaped; control characters, which XML cannot hold, are dropped.
[[nodiscard]] inline std::string escaped_markup(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n') {
      out += c;
    }
  }
  return out;
}

}  // namespace weir::plan
