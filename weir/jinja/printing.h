#pragma once

/// Values as text: str(), repr() and JSON exactly as Python 3 prints them, each byte keeping its
/// origin; the punctuation of a container that came from the conversation is untrusted too.
/// Thread safety: as Heap.

#include <optional>
#include <string>

#include "weir/jinja/value.h"

namespace weir::jinja {

[[nodiscard]] std::string print_real(double value);  ///< float.__repr__
/// str(value): what {{ value }} writes.
[[nodiscard]] Result<Text> to_text(Heap& heap, const Value& value);
[[nodiscard]] Result<Text> to_repr(Heap& heap, const Value& value);

struct JsonStyle {
  std::optional<std::string> indent;  ///< One level of it; absent: one line.
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ensure_ascii = false;
  bool sort_keys = false;
};
/// json.dumps(value); style.item_separator is used as it is, also with an indent.
[[nodiscard]] Result<Text> to_json(Heap& heap, const Value& value, const JsonStyle& style);

[[nodiscard]] Text escape(const Text& text);  ///< HTML: & < > " '

}  // namespace weir::jinja
