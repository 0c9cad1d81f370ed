#include "weir/cli/chat_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/base/utf8.h"
#include "weir/text/detokenizer.h"

namespace weir::cli {
namespace {

/// How late Ctrl-C may be noticed while the model thinks: below what a person feels.
constexpr std::chrono::milliseconds kPatience{20};

}  // namespace

ChatSession::ChatSession(const model::OpenedModel& model, engine::Engine& engine,
                         const sys::Clock& clock, const ChatSettings& settings)
    : model_(model), engine_(engine), clock_(clock), settings_(settings) {}

Result<Reply> ChatSession::say(std::string message, const Watch& watch) {
  if (model_.chat_template == nullptr) {
    return fail(
        Code::kUnsupported,
        "this model has no chat template, so it cannot hold a conversation; --raw continues a "
        "text instead");
  }
  Conversation conversation;
  if (!settings_.system.empty())
    conversation.messages.push_back({"system", settings_.system, {}, {}, {}, {}});
  conversation.messages.insert(conversation.messages.end(), turns_.begin(), turns_.end());
  ChatMessage user{"user", utf8::sanitize(message), {}, {}, {}, {}};
  conversation.messages.push_back(user);

  text::TemplateContext context = model_.template_context;
  context.unix_seconds = clock_.unix_seconds();
  WEIR_TRY(const auto spans, model_.chat_template->render(conversation, context));
  // The template has written the special tokens already.
  WEIR_TRY(Reply reply, answer(model_.tokenizer->encode(spans, {.add_special = false}), watch));
  const bool nothing_said = reply.text.empty() && reply.reason == engine::FinishReason::kCancelled;
  if (nothing_said) return reply;
  turns_.push_back(std::move(user));
  turns_.push_back({"assistant", reply.text, {}, {}, {}, {}});
  return reply;
}

Result<Reply> ChatSession::complete(std::string_view prompt, const Watch& watch) {
  return answer(model_.tokenizer->encode(utf8::sanitize(prompt), true), watch);
}

Result<Reply> ChatSession::answer(std::vector<TokenId> prompt, const Watch& watch) {
  const std::uint32_t room = engine_.context();
  if (prompt.size() >= room) {
    return fail(
        Code::kContextLength,
        fmt::format(
            "this conversation is {} tokens long, and the context of {} has no room left for "
            "an answer: /reset starts over, /save keeps it first, and a larger --context "
            "(where the model has one) holds more",
            prompt.size(), room));
  }
  const auto left = static_cast<std::uint32_t>(room - prompt.size());
  engine::Request request;
  request.id = "run";
  request.max_tokens = settings_.max_tokens == 0 ? left : std::min(left, settings_.max_tokens);
  request.sampling = settings_.sampling;
  request.prompt = std::move(prompt);
  WEIR_TRY(const auto stream, engine_.submit(std::move(request)));

  Reply reply;
  text::Detokenizer detokenizer(*model_.tokenizer);
  const auto show = [&](const std::string& text) {
    reply.text += text;
    if (!text.empty() && watch.on_text) watch.on_text(text);
  };
  std::vector<engine::TokenEvent> events;
  std::optional<engine::Finish> finish;
  while (!finish) {
    stream->wait(kPatience);
    events.clear();
    finish = stream->take(events);
    std::string text;
    for (const engine::TokenEvent& event : events) text += detokenizer.push(event.token);
    show(text);
    if (watch.interrupted && watch.interrupted()) stream->cancel();
  }
  show(detokenizer.finish());
  if (finish->reason == engine::FinishReason::kError)
    return std::unexpected(std::move(finish->error));
  reply.reason = finish->reason;
  reply.timings = finish->timings;
  context_used_ = reply.timings.prompt_tokens + reply.timings.answer_tokens;
  reply.context_full = reply.reason == engine::FinishReason::kLength && context_used_ >= room;
  return reply;
}

}  // namespace weir::cli
