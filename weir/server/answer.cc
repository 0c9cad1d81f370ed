#include "weir/server/answer.h"

#include <fmt/format.h>

#include <utility>

#include "weir/server/respond.h"
#include "weir/server/wire_timings.h"

namespace weir::server {

Answer::Answer(std::shared_ptr<http::Exchange> exchange, std::shared_ptr<const ServedModel> model,
               const AnswerPlan& plan, std::vector<http::Header> headers, RequestLog& log)
    : exchange_(std::move(exchange)),
      model_(std::move(model)),
      head_(plan.head),
      encoder_(plan.head),
      stream_(plan.stream),
      timings_(plan.timings),
      tenant_(plan.tenant),
      log_(log),
      headers_(std::move(headers)) {
  usage_.prompt_tokens = plan.prompt_tokens;
}

Status Answer::submit(const std::shared_ptr<http::Exchange>& exchange,
                      std::shared_ptr<const ServedModel> model, engine::Engine& engine,
                      AnswerPlan plan, std::vector<http::Header> headers, RequestLog& log) {
  auto answer = std::make_shared<Answer>(exchange, std::move(model), plan, std::move(headers), log);
  std::vector<engine::SequenceId> ids;
  if (plan.choices.size() > engine.max_waiting()) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("this request asks for {} answers, but at most {} may wait here: lower n "
                    "or the number of prompts",
                    plan.choices.size(), engine.max_waiting()),
        "n");
  }
  answer->slots_.reserve(plan.choices.size());
  for (auto& choice : plan.choices) {
    auto generation =
        Generation::create(*answer->model_->tokenizer, plan.stops, plan.head.logprobs);
    // Called on the engine's thread; the answer may be gone by then.
    choice.request.on_ready = [weak = std::weak_ptr<Answer>(answer)] {
      const auto self = weak.lock();
      if (!self || self->pump_posted_.exchange(true)) return;
      self->exchange_->post([self] { self->pump(); });
    };
    if (choice.leader) choice.request.leader = ids[*choice.leader];
    auto stream =
        generation
            ? engine.submit(std::move(choice.request))
            : Result<std::shared_ptr<engine::TokenStream>>(std::unexpected(generation.error()));
    if (!stream) {
      answer->cancel();
      return std::unexpected(std::move(stream).error());
    }
    ids.push_back((*stream)->id());
    answer->slots_.push_back(
        {*std::move(stream), *std::move(generation), {}, std::move(choice.echo), !choice.leader});
  }
  log.began(answer->head_.id, answer->head_.created, plan.tenant, std::move(ids));
  exchange->post([answer] { answer->begin(); });
  return {};
}

void Answer::begin() {
  begun_ = true;
  exchange_->on_gone([self = shared_from_this()] {
    self->over_ = true;
    self->cancel();
  });
  pump();
}

void Answer::pump() {
  pump_posted_ = false;
  if (!begun_ || over_) return;
  if (exchange_->unsent_bytes() > http::Exchange::kHighWater) {
    exchange_->on_writable([self = shared_from_this()] { self->pump(); });
    return;
  }
  bool all_done = true;
  for (std::uint32_t i = 0; i < slots_.size() && !over_; ++i) {
    if (!slots_[i].done) take(i, slots_[i]);
    all_done = all_done && slots_[i].done;
  }
  if (over_) return;
  if (all_done) {
    complete();
  } else {
    flush();
  }
}

void Answer::take(std::uint32_t index, Slot& slot) {
  events_.clear();
  const auto finish = slot.stream->take(events_);
  if (!slot.generation.stopped()) {
    emit(index, slot, slot.generation.push(events_));
    if (slot.generation.stopped())
      slot.stream->stop(static_cast<std::uint32_t>(slot.generation.tokens()));
  }
  if (!finish) return;
  slot.done = true;
  usage_.completion_tokens += slot.generation.tokens();
  // Further choices find all of the prompt, which is the leader's doing and no saving of work.
  if (slot.leads) usage_.cached_tokens += finish->timings.cached_tokens;
  log_.ended(head_.id, tenant_, slot.stream->id(), *finish);
  if (slot.generation.stopped()) return close(index, slot, api::FinishWord::kStop, finish->timings);
  switch (finish->reason) {
    case engine::FinishReason::kStop:
    case engine::FinishReason::kLength: {
      emit(index, slot, slot.generation.finish());
      const bool stop = finish->reason == engine::FinishReason::kStop || slot.generation.stopped();
      close(index, slot, stop ? api::FinishWord::kStop : api::FinishWord::kLength, finish->timings);
      return;
    }
    case engine::FinishReason::kCancelled:
      return break_off(
          {Code::kUnavailable, "the server is shutting down; try again elsewhere or later", {}});
    case engine::FinishReason::kError:
      return break_off(finish->error);
  }
}

void Answer::emit(std::uint32_t index, Slot& slot, const Generation::Delta& delta) {
  if (!stream_) {
    if (!slot.echo.empty()) slot.whole.text = std::exchange(slot.echo, {});
    slot.whole.text += delta.text;
    slot.whole.entries.insert(slot.whole.entries.end(), delta.entries.begin(), delta.entries.end());
    return;
  }
  if (delta.empty()) return;
  start();
  encoder_.delta(out_, index, delta.text, delta.entries);
}

void Answer::close(std::uint32_t index, Slot& slot, api::FinishWord word,
                   const engine::Timings& timings) {
  slot.whole.finish = word;
  if (timings_) slot.whole.timings = to_wire(timings);
  if (!stream_) return;
  start();
  encoder_.close(out_, index, word, slot.whole.timings);
}

/// The head waits for the first event, so that what fails before has its true status.
void Answer::start() {
  if (std::exchange(started_, true)) return;
  http::Response head;
  head.content_type = "text/event-stream; charset=utf-8";
  head.headers = std::move(headers_);
  head.headers.push_back({"cache-control", "no-cache"});
  head.headers.push_back({"x-accel-buffering", "no"});  // nginx: pass events on as they come.
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    encoder_.open(head.body, i);
    if (!slots_[i].echo.empty()) encoder_.delta(head.body, i, slots_[i].echo, {});
  }
  exchange_->start_stream(std::move(head));
}

void Answer::flush() {
  if (out_.empty()) return;
  exchange_->write(out_);
  out_.clear();
}

void Answer::complete() {
  over_ = true;
  exchange_->note(fmt::format("{} prompt={} answer={}", head_.id, usage_.prompt_tokens,
                              usage_.completion_tokens));
  if (stream_) {
    encoder_.usage(out_, usage_);
    api::ChunkEncoder::done(out_);
    flush();
    exchange_->end();
    return;
  }
  std::vector<api::Choice> choices;
  choices.reserve(slots_.size());
  for (auto& slot : slots_) choices.push_back(std::move(slot.whole));
  http::Response response;
  response.headers = std::move(headers_);
  response.body = api::encode_answer(head_, choices, usage_);
  exchange_->respond(std::move(response));
}

void Answer::break_off(const Error& error) {
  over_ = true;
  cancel();
  exchange_->note(fmt::format("{} broke off: {}", head_.id, error.message));
  if (!started_) {
    exchange_->respond(error_response(error, std::move(headers_)));
    return;
  }
  api::ChunkEncoder::error(out_, error);
  flush();
  exchange_->end();
}

void Answer::cancel() {
  for (auto& slot : slots_) slot.stream->cancel();
}

}  // namespace weir::server
