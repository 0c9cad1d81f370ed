#include "weir/cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include "weir/base/utf8.h"
#include "weir/sys/files.h"

namespace weir::cli {

Terminal::Terminal() : input_(isatty(STDIN_FILENO) == 1), output_(isatty(STDOUT_FILENO) == 1) {
  const std::string kind = sys::environment("TERM").value_or("dumb");
  edits_ = input_ && output_ && kind != "dumb";
  colours_ = output_ && kind != "dumb" && !sys::environment("NO_COLOR");
}

std::string Terminal::styled(const char* code, std::string_view text) const {
  return colours_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string harmless(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const utf8::Decoded c = utf8::decode(text, at);
    const bool control = (c.code_point < 0x20 && c.code_point != '\n' && c.code_point != '\t') ||
                         (c.code_point >= 0x7F && c.code_point < 0xA0);
    if (!control) utf8::append(out, c.code_point);
    at += c.size;
  }
  return out;
}

}  // namespace weir::cli
