#include "weir/engine/request_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::engine {
namespace {

Status check_tokens(std::span<const TokenId> tokens, std::int32_t vocabulary, const char* what,
                    const char* subject) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocabulary) continue;
    return fail(Code::kInvalidArgument,
                fmt::format("{} {} is {}, but this model's tokens are 0 to {}", what, i, tokens[i],
                            vocabulary - 1),
                subject);
  }
  return {};
}

}  // namespace

Status check_request(Request& request, const DecoderFacts& facts, std::uint32_t context,
                     const RequestCaps& caps) {
  const std::size_t prompt = request.prompt.size();
  if (prompt == 0) {
    return fail(Code::kInvalidArgument, "the prompt has no tokens: say something", "prompt");
  }
  if (prompt >= context) {
    return fail(
        Code::kContextLength,
        fmt::format("This model's maximum context length is {} tokens. However, your messages "
                    "resulted in {} tokens{}. Please reduce the length of the messages.",
                    context, prompt,
                    prompt == context ? ", which leaves no room for an answer" : ""),
        "messages");
  }
  if (caps.input_tokens > 0 && prompt > caps.input_tokens) {
    return fail(Code::kContextLength,
                fmt::format("This server takes at most {} tokens of input. However, your messages "
                            "resulted in {} tokens. Please reduce the length of the messages.",
                            caps.input_tokens, prompt),
                "messages");
  }
  if (caps.output_tokens > 0 && request.max_tokens > caps.output_tokens) {
    return fail(Code::kInvalidArgument,
                fmt::format("max_tokens is {}, but this server answers with at most {} tokens",
                            request.max_tokens, caps.output_tokens),
                "max_tokens");
  }
  if (request.max_tokens == 0) {
    request.max_tokens = context - static_cast<std::uint32_t>(prompt);
    if (caps.output_tokens > 0)
      request.max_tokens = std::min(request.max_tokens, caps.output_tokens);
  }
  if (request.max_tokens > context - prompt) {
    return fail(
        Code::kContextLength,
        fmt::format("This model's maximum context length is {} tokens. However, you requested "
                    "{} tokens ({} in the messages, {} in the completion). Please reduce the "
                    "length of the messages or completion.",
                    context, prompt + request.max_tokens, prompt, request.max_tokens),
        "messages");
  }
  if (request.min_tokens > request.max_tokens) {
    return fail(Code::kInvalidArgument,
                fmt::format("min_tokens is {}, more than max_tokens, which is {}",
                            request.min_tokens, request.max_tokens),
                "min_tokens");
  }
  if (request.top_logprobs < -1 || request.top_logprobs > Request::kMaxTopLogprobs) {
    return fail(Code::kInvalidArgument,
                fmt::format("top_logprobs must be 0 to {}, but it is {}", Request::kMaxTopLogprobs,
                            request.top_logprobs),
                "top_logprobs");
  }
  if (request.stop_tokens.size() > Request::kMaxStopTokens) {
    return fail(Code::kInvalidArgument,
                fmt::format("at most {} stop tokens can be given, not {}", Request::kMaxStopTokens,
                            request.stop_tokens.size()),
                "stop_token_ids");
  }
  WEIR_TRY_STATUS(check_tokens(request.prompt, facts.vocabulary, "prompt token", "prompt"));
  WEIR_TRY_STATUS(
      check_tokens(request.stop_tokens, facts.vocabulary, "stop token", "stop_token_ids"));
  return validate(request.sampling, facts.vocabulary);
}

}  // namespace weir::engine
