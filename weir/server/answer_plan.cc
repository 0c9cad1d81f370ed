#include "weir/server/answer_plan.h"

#include <fmt/format.h>

#include <utility>

#include "weir/api/request.h"

namespace weir::server {
namespace {

api::DecodeContext decode_context(const ServedModel& model) {
  return {model.default_sampling, model.tokenizer->size()};
}

Status check_model(const ServedModel& model, const std::string& name) {
  if (model.is_called(name)) return {};
  return fail(Code::kNotFound,
              fmt::format("the model '{}' does not exist; this server has '{}'",
                          name.substr(0, 128), model.id),
              "model");
}

AnswerPlan begin(const api::AnswerOptions& options, const ServedModel& model, api::AnswerKind kind,
                 const Asking& asking) {
  AnswerPlan plan;
  plan.head = {kind,
               (kind == api::AnswerKind::kChat ? "chatcmpl-" : "cmpl-") + asking.id,
               asking.unix_seconds,
               model.id,
               model.fingerprint,
               options.include_usage,
               options.top_logprobs >= 0};
  plan.stream = options.stream;
  plan.timings = options.timings;
  plan.tenant = asking.tenant;
  plan.stops = options.stops;
  return plan;
}

void add_choices(AnswerPlan& plan, const api::AnswerOptions& options, const Asking& asking,
                 const std::vector<TokenId>& prompt, const std::string& echo) {
  plan.prompt_tokens += prompt.size();
  const std::size_t first = plan.choices.size();
  for (std::uint32_t i = 0; i < options.choices; ++i) {
    engine::Request request;
    request.id = asking.id;
    request.tenant = asking.tenant;
    request.space = asking.space;
    request.deadline = asking.deadline;
    request.priority = options.priority;
    request.prompt = prompt;
    request.sampling = options.sampling;
    // Choices differ though the seed is one, and the first is what n = 1 would give.
    if (request.sampling.seed) *request.sampling.seed += i;
    request.max_tokens = options.max_tokens.value_or(0);
    request.min_tokens = options.min_tokens;
    request.stop_tokens = options.stop_tokens;
    request.ignore_eos = options.ignore_eos;
    request.top_logprobs = options.top_logprobs;
    plan.choices.push_back({std::move(request), i > 0 ? std::optional(first) : std::nullopt, echo});
  }
}

}  // namespace

Result<AnswerPlan> plan_chat(std::string_view body, const ServedModel& model,
                             const Asking& asking) {
  WEIR_TRY(const auto request, api::decode_chat(body, decode_context(model)));
  WEIR_TRY_STATUS(check_model(model, request.answer.model));
  if (!model.render) {
    return fail(Code::kUnsupported,
                fmt::format("the model '{}' has no chat template; use /v1/completions", model.id),
                "model");
  }
  WEIR_TRY(const auto spans, model.render(request.conversation, asking.unix_seconds));
  AnswerPlan plan = begin(request.answer, model, api::AnswerKind::kChat, asking);
  // Templates write bos themselves, so the tokenizer adds nothing.
  add_choices(plan, request.answer, asking, model.tokenizer->encode(spans, {.add_special = false}),
              {});
  return plan;
}

Result<AnswerPlan> plan_completion(std::string_view body, const ServedModel& model,
                                   const Asking& asking) {
  WEIR_TRY(const auto request, api::decode_completion(body, decode_context(model)));
  WEIR_TRY_STATUS(check_model(model, request.answer.model));
  AnswerPlan plan = begin(request.answer, model, api::AnswerKind::kCompletion, asking);
  for (const auto& prompt : request.prompts) {
    const auto* text = std::get_if<std::string>(&prompt);
    const std::vector<TokenId> tokens =
        text != nullptr ? model.tokenizer->encode(*text) : std::get<std::vector<TokenId>>(prompt);
    std::string echo;
    if (request.echo) echo = text != nullptr ? *text : model.tokenizer->decode(tokens);
    add_choices(plan, request.answer, asking, tokens, echo);
  }
  return plan;
}

}  // namespace weir::server
