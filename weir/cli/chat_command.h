#pragma once

/// The slash commands of the terminal chat, as text to values.
/// Thread safety: pure functions.

#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::cli {

enum class ChatAction {
  kSay,  ///< Not a command: `argument` is the message ("//x" says "/x").
  kHelp,
  kSystem,  ///< `argument`: the new system message; empty shows it.
  kReset,
  kSet,  ///< `argument`: name; `value`. Both empty: show all.
  kStats,
  kSave,  ///< `argument`: a file.
  kLoad,
  kQuit,
};

struct ChatCommand {
  ChatAction action = ChatAction::kSay;
  std::string argument;
  std::string value;
};

/// An unknown command names the nearest known one; a missing argument says what is wanted.
[[nodiscard]] Result<ChatCommand> parse_chat_line(std::string_view line);

/// What /help prints.
[[nodiscard]] std::string_view chat_help();

}  // namespace weir::cli
