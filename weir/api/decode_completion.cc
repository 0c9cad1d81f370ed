#include <fmt/format.h>

#include "weir/api/internal/options.h"

namespace weir::api {
namespace {

/// Above any context, below what a body can hold: the context check names the true limit.
constexpr std::size_t kMaxPromptTokens = 1 << 22;
constexpr std::uint32_t kDefaultMaxTokens = 16;

/// A string, a list of tokens, or a list of either.
Result<std::vector<Prompt>> decode_prompts(const Fields& fields, const DecodeContext& context) {
  std::vector<Prompt> prompts;
  const auto* value = fields.find("prompt");
  if (value == nullptr) return fail(Code::kInvalidArgument, "prompt is missing", "prompt");
  if (value->is_string()) {
    WEIR_TRY(auto text, to_string(*value, "prompt"));
    prompts.emplace_back(std::move(text));
    return prompts;
  }
  if (!value->is_array()) {
    return wrong_type("prompt", "a string, an array of strings, or arrays of token ids", *value);
  }
  const auto& array = value->get_array();
  if (array.empty()) return fail(Code::kInvalidArgument, "prompt is empty", "prompt");
  if (array.front().is_number()) {
    WEIR_TRY(auto tokens, decode_tokens(array, "prompt", context, kMaxPromptTokens));
    prompts.emplace_back(std::move(tokens));
    return prompts;
  }
  if (array.size() > kMaxPrompts) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("prompt may hold at most {} prompts, but holds {}", kMaxPrompts, array.size()),
        "prompt");
  }
  for (const auto& element : array) {
    const std::string name = fmt::format("prompt[{}]", prompts.size());
    if (element.is_string()) {
      WEIR_TRY(auto text, to_string(element, name));
      prompts.emplace_back(std::move(text));
    } else if (element.is_array()) {
      WEIR_TRY(auto tokens, decode_tokens(element.get_array(), name, context, kMaxPromptTokens));
      prompts.emplace_back(std::move(tokens));
    } else {
      return wrong_type(name, "a string or an array of token ids", element);
    }
  }
  return prompts;
}

}  // namespace

Result<CompletionRequest> decode_completion(std::string_view body, const DecodeContext& context) {
  json::monotonic_resource memory;
  WEIR_TRY(const auto document, parse_object(body, &memory));
  const Fields fields(document);
  CompletionRequest request;
  WEIR_TRY(request.answer, decode_options(fields, context));
  if (!request.answer.max_tokens) {
    request.answer.max_tokens = std::max(kDefaultMaxTokens, request.answer.min_tokens);
  }
  WEIR_TRY(request.prompts, decode_prompts(fields, context));
  if (request.prompts.size() * request.answer.choices > kMaxAnswers) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} prompts times n = {} is more than {} answers",
                            request.prompts.size(), request.answer.choices, kMaxAnswers),
                "n");
  }
  const auto* suffix = fields.find("suffix");
  if (suffix != nullptr && !(suffix->is_string() && suffix->get_string().empty())) {
    return fail(Code::kUnsupported,
                "suffix is not supported: this model does not fill in the middle", "suffix");
  }
  WEIR_TRY(const auto best_of, fields.integer("best_of", 1, kMaxChoices));
  if (best_of && *best_of != request.answer.choices) {
    return fail(Code::kUnsupported, "best_of can only equal n", "best_of");
  }
  WEIR_TRY(const auto echo, fields.boolean("echo"));
  request.echo = echo.value_or(false);

  // OpenAI's legacy form is a count; some clients send a boolean.
  const auto* logprobs = fields.find("logprobs");
  if (logprobs != nullptr && logprobs->is_bool()) {
    request.answer.top_logprobs = logprobs->get_bool() ? 0 : -1;
  } else {
    WEIR_TRY(const auto top, fields.integer("logprobs", 0, kMaxTopLogprobs));
    if (top) request.answer.top_logprobs = static_cast<std::int32_t>(*top);
  }
  if (request.echo && request.answer.top_logprobs >= 0) {
    return fail(Code::kUnsupported,
                "logprobs with echo are not supported: the prompt is not scored", "echo");
  }
  return request;
}

}  // namespace weir::api
