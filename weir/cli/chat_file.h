#pragma once

/// A saved conversation: JSON that people can read, and that /load takes up again.
///   {"weir_chat": 1, "model": "smollm2", "settings": {"temperature": "0.7", ...},
///    "messages": [{"role": "system"|"user"|"assistant", "content": "..."}, ...]}
/// Thread safety: functions over the file system.

#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/cli/chat_settings.h"
#include "weir/spec/chat.h"

namespace weir::cli {

inline constexpr std::uint64_t kMaxChatFile = 64U << 20;

struct SavedChat {
  std::string model;
  ChatSettings settings;  ///< With the system message.
  std::vector<ChatMessage> turns;
};

[[nodiscard]] Status save_chat(const std::string& path, const SavedChat& chat);

/// Settings the file does not mention keep their value from `current`. Roles must alternate, user
/// first, after an optional system message.
[[nodiscard]] Result<SavedChat> load_chat(const std::string& path, const ChatSettings& current,
                                          std::int32_t vocabulary);

}  // namespace weir::cli
