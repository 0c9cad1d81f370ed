#pragma once

/// What a client asks for, decoded from the body of POST /v1/chat/completions or /v1/completions.
///
/// Every number is checked against the range beside it and every fault names its field in
/// Error::subject (`messages[2].content[0].type`). null means absent. Fields that only tell the
/// provider something (`user`, `metadata`, `store`, `prompt_cache_key` and the
/// like) and fields unknown to us are ignored; a field we know and cannot obey is refused, so that
/// nobody gets an unconstrained answer to a constrained question. Thread safety: values and pure
/// functions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/spec/chat.h"
#include "weir/spec/priority.h"
#include "weir/spec/sampling.h"

namespace weir::api {

inline constexpr std::uint32_t kMaxChoices = 16;  ///< OpenAI allows 128; each is a whole answer.
inline constexpr std::uint32_t kMaxPrompts = 64;  ///< Of one completions request.
inline constexpr std::uint32_t kMaxAnswers = 64;  ///< Prompts times n.
inline constexpr std::uint32_t kMaxMessages = 4096;
inline constexpr std::uint32_t kMaxTools = 128;
inline constexpr std::uint32_t kMaxStopStrings = 16;  ///< OpenAI allows 4.
inline constexpr std::size_t kMaxStopBytes = 1024;
inline constexpr std::uint32_t kMaxStopTokens = 128;
inline constexpr std::int64_t kMaxTokensAsked = 1 << 30;  ///< The context bounds it further.
inline constexpr std::int32_t kMaxTopLogprobs = 20;
inline constexpr std::size_t kMaxDepth = 32;  ///< Of nested JSON.

/// What the wire leaves open and the served model decides.
struct DecodeContext {
  SamplingParams defaults;      ///< For fields the request does not state.
  std::int32_t vocabulary = 0;  ///< Bounds token ids.
};

/// What both endpoints share.
struct AnswerOptions {
  std::string model;
  SamplingParams sampling;
  std::optional<std::uint32_t> max_tokens;  ///< >= 1.
  std::uint32_t min_tokens = 0;
  bool ignore_eos = false;
  std::vector<TokenId> stop_tokens;
  std::vector<std::string> stops;  ///< Never empty strings.
  std::uint32_t choices = 1;       ///< `n`, for each prompt.
  bool stream = false;
  bool include_usage = false;      ///< Only with stream.
  std::int32_t top_logprobs = -1;  ///< -1: none wanted; else how many alternatives.
  /// `priority`: a class by name, or vLLM's number, where less is more urgent and 0 is standard.
  Priority priority = Priority::kStandard;
  bool timings = false;  ///< The answer tells where its time went.
};

struct ChatRequest {
  AnswerOptions answer;
  Conversation conversation;  ///< At least one message.
};

using Prompt = std::variant<std::string, std::vector<TokenId>>;

struct CompletionRequest {
  AnswerOptions answer;  ///< max_tokens is 16 when the client does not say, as OpenAI has it.
  std::vector<Prompt> prompts;  ///< At least one.
  bool echo = false;            ///< The prompt stands before the answer.
};

[[nodiscard]] Result<ChatRequest> decode_chat(std::string_view body, const DecodeContext& context);
[[nodiscard]] Result<CompletionRequest> decode_completion(std::string_view body,
                                                          const DecodeContext& context);

}  // namespace weir::api
