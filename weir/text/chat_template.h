#pragma once

/// A model's chat template: a conversation to the spans of its prompt. The template's own text is
/// trusted, everything that came from the conversation is not, character by character, through
/// every filter and slice; so text::Tokenizer::encode sees special tokens only where the template
/// put them. One exception: a role out of OpenAI's five is trusted, as templates build tokens from
/// it
/// (`<|user|>`).
///
/// Templates disagree on three points of form; compile() finds out by rendering which one this
/// template wants: content as text or as a list of parts, the content of a tool-calling message as
/// missing, none or empty, and call arguments as an object or as JSON text.
///
/// A template error is an Error with line and column, when the template is compiled or when it is
/// rendered; there is no fallback template.
/// Thread safety: immutable after compile(); render() may be called from any thread.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/spec/chat.h"
#include "weir/text/tokenizer.h"

namespace weir::text {

struct TemplateContext {
  std::string bos_token;  ///< Texts of the model's tokens, as templates name them.
  std::string eos_token;
  std::int64_t unix_seconds =
      0;  ///< What `strftime_now` formats (UTC); time comes in as a parameter.
};

class ChatTemplate {
 public:
  /// Compiles, then renders a small conversation to prove that the template works at all.
  [[nodiscard]] static Result<ChatTemplate> compile(std::string_view source);

  /// Code::kInvalidArgument when the template itself refuses (raise_exception) or cannot render
  /// this conversation. `developer` becomes `system` where the template does not know it.
  [[nodiscard]] Result<std::vector<Span>> render(const Conversation& conversation,
                                                 const TemplateContext& context) const;

  [[nodiscard]] bool knows_tools() const;      ///< It reads `tools`.
  [[nodiscard]] bool knows_developer() const;  ///< It handles the role `developer`.
  [[nodiscard]] const std::string& source() const;

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::text
