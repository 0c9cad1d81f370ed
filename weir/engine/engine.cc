#include "weir/engine/engine.h"

#include <fmt/format.h>

#include <utility>

#include "weir/base/check.h"
#include "weir/base/random.h"
#include "weir/engine/internal/step_loop.h"
#include "weir/engine/request_check.h"

namespace weir::engine {
namespace {

Error error_of(sched::Refusal refusal, const sched::Scheduler& scheduler) {
  switch (refusal) {
    case sched::Refusal::kTooManyRequests:
      return {Code::kExhausted,
              fmt::format("{} requests are waiting already, as many as may: try again later",
                          scheduler.waiting()),
              {}};
    case sched::Refusal::kTooManyTokens:
      return {Code::kExhausted,
              fmt::format("prompts of {} tokens are waiting already, and this one would pass the "
                          "bound: try again later",
                          scheduler.waiting_tokens()),
              {}};
    case sched::Refusal::kTooOld:
      return {Code::kExhausted,
              "requests have been waiting too long already for another to be worth its wait: try "
              "again later",
              {}};
    case sched::Refusal::kNeverFits:
      break;
  }
  return {Code::kContextLength,
          fmt::format("prompt and answer need more than its class may have of the {} units of "
                      "KV cache there are",
                      scheduler.ledger().total()),
          "messages"};
}

}  // namespace

Engine::Engine(std::unique_ptr<Decoder> decoder, std::vector<TokenId> end_tokens,
               const sys::Clock& clock, EngineOptions options)
    : loop_(std::make_unique<StepLoop>(std::move(decoder), std::move(end_tokens), clock, options)) {
}

Engine::~Engine() = default;

void Engine::observe(Observer& observer) {
  const std::lock_guard lock(loop_->mutex);
  WEIR_CHECK(loop_->next_id == 1, "an observer is set before the first request");
  loop_->observer = &observer;
}

Result<std::shared_ptr<TokenStream>> Engine::submit(Request request) {
  StepLoop& e = *loop_;
  if (auto checked = check_request(request, e.decoder->facts(), e.context, e.caps); !checked) {
    const std::lock_guard lock(e.mutex);
    e.books.refuse();
    return std::unexpected(std::move(checked).error());
  }
  if (!request.sampling.seed) {
    const auto r = philox(e.seed_key, e.seeds_drawn++);
    request.sampling.seed = std::uint64_t{r[0]} << 32 | r[1];
  }
  const SequenceId id{e.next_id++};
  const TimePoint now = e.clock.now();
  auto stream = std::make_shared<TokenStream>(std::move(request.on_ready), &e.clock, id);
  auto sequence =
      std::make_unique<Sequence>(request, e.end_tokens, e.decoder->facts().vocabulary, stream, now);
  sched::Request wanted{id,
                        request.tenant,
                        request.space,
                        request.priority,
                        std::move(request.prompt),
                        request.max_tokens,
                        std::nullopt,
                        request.leader};
  if (request.deadline) wanted.deadline = instant(*request.deadline);
  {
    const std::lock_guard lock(e.mutex);
    if (e.draining) {
      e.books.refuse();
      return fail(Code::kUnavailable, "this server is shutting down and takes no new requests");
    }
    if (const auto accepted = e.scheduler.arrived(std::move(wanted), instant(now)); !accepted) {
      e.books.refuse();
      return std::unexpected(error_of(accepted.error(), e.scheduler));
    }
    e.sequences.emplace(id, std::move(sequence));
    e.books.accept();
  }
  e.work.notify_one();
  return stream;
}

bool Engine::drain(std::chrono::milliseconds grace) {
  StepLoop& e = *loop_;
  std::unique_lock lock(e.mutex);
  e.draining = true;
  const auto done = [&e] { return e.scheduler.idle(); };
  if (done() || (grace > grace.zero() && e.idle.wait_for(lock, grace, done))) return true;
  e.cancel_all.store(true, std::memory_order_release);
  e.idle.wait(lock, done);
  return false;
}

EngineStats Engine::stats() const {
  const std::lock_guard lock(loop_->mutex);
  EngineStats stats = loop_->books.stats(loop_->scheduler);
  stats.draining = loop_->draining;
  return stats;
}

std::optional<Account> Engine::account(SequenceId id) const {
  const std::lock_guard lock(loop_->mutex);
  const auto it = loop_->sequences.find(id);
  if (it == loop_->sequences.end()) return std::nullopt;
  return Account{it->second->request_id(), *loop_->scheduler.progress(id),
                 it->second->timings(loop_->clock.now())};
}

std::chrono::nanoseconds Engine::step_age() const {
  const std::lock_guard lock(loop_->mutex);
  if (!loop_->step_began) return {};
  return loop_->clock.now() - *loop_->step_began;
}

const DecoderFacts& Engine::facts() const { return loop_->decoder->facts(); }

std::uint32_t Engine::max_waiting() const { return loop_->max_waiting; }

std::uint32_t Engine::context() const { return loop_->context; }

}  // namespace weir::engine
