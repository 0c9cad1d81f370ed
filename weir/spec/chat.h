#pragma once

/// A conversation as a client sends it, before any template: the common language of api (decodes
/// it), text (renders it) and the terminal. Texts are valid UTF-8.
/// Thread safety: values.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir {

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  ///< A JSON text, as OpenAI has it.
};

struct ChatMessage {
  std::string role;                    ///< developer, system, user, assistant or tool.
  std::optional<std::string> content;  ///< Absent (null) only when an assistant calls tools.
  std::optional<std::string> name;
  std::optional<std::string> tool_call_id;       ///< For role tool.
  std::vector<ToolCall> tool_calls;              ///< For role assistant.
  std::optional<std::string> reasoning_content;  ///< For role assistant.
};

struct Conversation {
  std::vector<ChatMessage> messages;
  std::vector<std::string> tools;     ///< Each one OpenAI tool object as JSON text.
  std::string template_arguments;     ///< A JSON object (`chat_template_kwargs`) or empty.
  bool add_generation_prompt = true;  ///< End with the opening of the assistant's turn.
};

}  // namespace weir
