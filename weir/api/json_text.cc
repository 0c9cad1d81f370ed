#include "weir/api/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "weir/base/utf8.h"

namespace weir::api {

void append_json_escaped(std::string& out, std::string_view text) {
  std::size_t clean = 0;  // Start of the run not yet copied.
  const auto flush = [&](std::size_t end) { out.append(text.substr(clean, end - clean)); };
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80) {
      const auto decoded = utf8::decode(text, i);
      if (!decoded.valid) {
        flush(i);
        out += "\xEF\xBF\xBD";
        clean = i + decoded.size;
      }
      i += decoded.size;
      continue;
    }
    if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F) {
      ++i;
      continue;
    }
    flush(i);
    switch (byte) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
        break;
    }
    clean = ++i;
  }
  flush(text.size());
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  append_json_escaped(out, text);
  out += '"';
}

void append_json_float(std::string& out, float value) {
  if (!std::isfinite(value)) {
    out += "-9999.0";
    return;
  }
  fmt::format_to(std::back_inserter(out), "{}", value);
}

void append_json_integer(std::string& out, std::int64_t value) {
  fmt::format_to(std::back_inserter(out), "{}", value);
}

}  // namespace weir::api
