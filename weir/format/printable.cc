#include "weir/format/printable.h"

#include <fmt/format.h>

#include <iterator>

#include "weir/base/utf8.h"

namespace weir::format {

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size() && out.size() < max_bytes) {
    const utf8::Decoded c = utf8::decode(text, at);
    at += c.size;
    if (c.code_point == '\n') {
      out += "\\n";
    } else if (c.code_point == '\t') {
      out += "\\t";
    } else if (c.code_point < 0x20 || (c.code_point >= 0x7F && c.code_point < 0xA0)) {
      // C0, DEL and C1: what a terminal obeys instead of showing.
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", c.code_point);
    } else {
      utf8::append(out, c.code_point);
    }
  }
  if (at < text.size()) out += "...";
  return out;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

}  // namespace weir::format
