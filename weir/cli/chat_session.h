#pragma once

/// A conversation with a loaded model: a message in, an answer out as it is made. The terminal, the
/// pipe and --json all speak through it.
/// Thread safety: one thread.

#include <functional>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/cli/chat_settings.h"
#include "weir/engine/engine.h"
#include "weir/model/open.h"
#include "weir/spec/chat.h"
#include "weir/sys/clock.h"

namespace weir::cli {

struct Reply {
  std::string text;
  engine::FinishReason reason = engine::FinishReason::kStop;
  engine::Timings timings;
  bool context_full = false;  ///< It ended because the context has no room left.
};

/// How an answer is watched: its text as it comes, always whole characters; and whether to stop it.
struct Watch {
  std::function<void(std::string_view)> on_text;
  std::function<bool()> interrupted;
};

class ChatSession {
 public:
  /// All outlive the session.
  ChatSession(const model::OpenedModel& model, engine::Engine& engine, const sys::Clock& clock,
              const ChatSettings& settings);

  /// The next turn. A message that fails (or is interrupted before its first character) leaves the
  /// conversation as it was. kContextLength says what to do when the conversation no longer fits.
  [[nodiscard]] Result<Reply> say(std::string message, const Watch& watch);

  /// Continues `prompt` as it stands: no template, special tokens recognised, no memory.
  [[nodiscard]] Result<Reply> complete(std::string_view prompt, const Watch& watch);

  void reset() { turns_.clear(); }
  /// User and assistant messages; the system message is a setting.
  [[nodiscard]] const std::vector<ChatMessage>& turns() const { return turns_; }
  void restore(std::vector<ChatMessage> turns) { turns_ = std::move(turns); }

  [[nodiscard]] std::uint32_t context() const { return engine_.context(); }
  /// Tokens of the context that the conversation filled when it last was answered.
  [[nodiscard]] std::uint32_t context_used() const { return context_used_; }

 private:
  [[nodiscard]] Result<Reply> answer(std::vector<TokenId> prompt, const Watch& watch);

  const model::OpenedModel& model_;
  engine::Engine& engine_;
  const sys::Clock& clock_;
  const ChatSettings& settings_;
  std::vector<ChatMessage> turns_;
  std::uint32_t context_used_ = 0;
};

}  // namespace weir::cli
