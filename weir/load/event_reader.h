#pragma once

/// Server-sent events, and what a client that measures needs to know of each, found by searching
/// bytes: only usage and errors are parsed as JSON. Thread safety: none; one owner.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::load {

class EventReader {
 public:
  /// Takes bytes from the front of `bytes` and returns the data of the next event, valid until the
  /// next call; nothing when more bytes are needed. kTooLarge: an event over 4 MiB.
  [[nodiscard]] Result<std::optional<std::string_view>> next(std::string_view& bytes);

 private:
  std::string partial_;
  std::string whole_;
};

struct Usage {
  std::uint32_t prompt_tokens = 0;
  std::uint32_t completion_tokens = 0;
  std::uint32_t cached_tokens = 0;
};

/// Whether the event's delta holds text: `content`, `reasoning_content` or `text` that is a
/// string with something in it, or a tool call. A chunk with only a role holds none: it tells
/// nothing of the first token.
[[nodiscard]] bool holds_text(std::string_view data);

/// The usage object, where the event (or a whole answer) has one.
[[nodiscard]] std::optional<Usage> usage_of(std::string_view data);

/// The message of an error event or body; nothing where there is no error.
[[nodiscard]] std::optional<std::string> error_of(std::string_view data);

/// The text of the delta, for conversations that go on with it.
[[nodiscard]] std::string text_of(std::string_view data);

}  // namespace weir::load
