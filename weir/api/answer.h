#pragma once

/// Answers on the wire, exactly in OpenAI's shapes: whole bodies and server-sent chunks. A chunk
/// costs the copy of a prefix made once per answer and the escaping of its text: no document per
/// token. Thread safety: immutable after construction.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/api/timings.h"
#include "weir/base/result.h"

namespace weir::api {

enum class AnswerKind : std::uint8_t { kChat, kCompletion };

struct AnswerHead {
  AnswerKind kind = AnswerKind::kChat;
  std::string id;            ///< "chatcmpl-..." or "cmpl-...": the same in every chunk.
  std::int64_t created = 0;  ///< Unix seconds.
  std::string model;
  std::string
      fingerprint;  ///< system_fingerprint; changes when equal seeds may give other answers.
  bool include_usage = false;
  bool logprobs = false;
};

struct TokenText {
  std::string bytes;  ///< As they are; may be part of a character.
  float logprob = 0.0F;
};

struct TokenEntry {
  TokenText token;
  std::vector<TokenText> top;   ///< Most likely first.
  std::size_t text_offset = 0;  ///< Characters of the choice's text before it (legacy completions).
};

enum class FinishWord : std::uint8_t { kStop, kLength };

struct Usage {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
  std::uint64_t cached_tokens = 0;  ///< Of the prompt.
};

struct Choice {
  std::string text;
  std::vector<TokenEntry> entries;  ///< When logprobs are wanted; their bytes joined are the text.
  FinishWord finish = FinishWord::kStop;
  std::optional<Timings> timings{};  ///< When asked for.
};

[[nodiscard]] std::string encode_answer(const AnswerHead& head, std::span<const Choice> choices,
                                        const Usage& usage);

/// Each function appends one whole event, "data: {...}\n\n". For each choice: open, any number of
/// deltas, close; after all choices usage if it was asked for, then done.
class ChunkEncoder {
 public:
  explicit ChunkEncoder(const AnswerHead& head);

  /// Chat's first chunk, which carries the role; nothing for completions.
  void open(std::string& out, std::uint32_t choice) const;
  void delta(std::string& out, std::uint32_t choice, std::string_view text,
             std::span<const TokenEntry> entries) const;
  /// `timings` only when they were asked for.
  void close(std::string& out, std::uint32_t choice, FinishWord finish,
             const std::optional<Timings>& timings = std::nullopt) const;
  /// Nothing unless include_usage.
  void usage(std::string& out, const Usage& usage) const;
  static void done(std::string& out);
  /// An answer that broke off: the error, and no done after it.
  static void error(std::string& out, const Error& error);

 private:
  AnswerKind kind_;
  bool include_usage_;
  bool logprobs_;
  std::string prefix_;  ///< Up to and with "choices":[
  std::string suffix_;  ///< After the choice.
};

}  // namespace weir::api
