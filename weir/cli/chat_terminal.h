#pragma once

/// The conversation of `weir run` at a terminal.
/// Thread safety: the main thread.

#include <string>

#include "weir/cli/chat_session.h"
#include "weir/cli/terminal.h"

namespace weir::cli {

struct ChatFacts {
  std::string model;  ///< What a person called it.
  std::int32_t vocabulary = 0;
  bool raw = false;  ///< Texts are continued, not answered.
};

/// Talks until the person leaves; the exit code.
int chat_at_terminal(const ChatFacts& facts, ChatSession& session, ChatSettings& settings,
                     const Terminal& terminal);

/// "prompt 45 tokens at 375/s, answer 20 tokens at 64.5/s, first after 121 ms"
[[nodiscard]] std::string describe(const engine::Timings& timings);

}  // namespace weir::cli
