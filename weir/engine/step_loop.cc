#include "weir/engine/internal/step_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "weir/base/check.h"
#include "weir/base/math.h"
#include "weir/engine/step_timing.h"

namespace weir::engine {
namespace {

constexpr std::uint64_t kIdlesPerCheck = 64;

std::uint64_t entropy() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

sched::End end_of(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
    case FinishReason::kLength:
      return sched::End::kFinished;
    case FinishReason::kCancelled:
      return sched::End::kCancelled;
    case FinishReason::kError:
      return sched::End::kFailed;
  }
  return sched::End::kFailed;
}

sched::Options schedule_of(const DecoderFacts& facts, sched::Options options) {
  options.ledger.units = facts.kv_units;
  options.ledger.shape = facts.kv;
  if (facts.kv.whole == 0) {
    // An id costs next to nothing: enough for sequences that fill their windows, however long, and
    // for one of a whole context.
    const std::uint64_t each = ceil_div(facts.context, facts.kv.window);
    const std::uint64_t ids = facts.kv_units / facts.kv.windowed * each;
    options.ledger.pages = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        ids + ceil_div(facts.context, kPageTokens), std::numeric_limits<std::int32_t>::max()));
  }
  options.max_rows = std::min(options.max_rows, facts.max_rows);
  options.max_chunk = std::clamp(options.max_chunk, 1U, options.max_rows);
  options.max_logit_rows = std::min(options.max_logit_rows, facts.max_logit_rows);
  options.max_running = std::min(options.max_running, options.max_logit_rows);
  return options;
}

std::uint32_t context_of(const DecoderFacts& facts, const EngineOptions& options) {
  // What any class may have.
  const sched::Options schedule = schedule_of(facts, options.schedule);
  const std::uint32_t aside =
      policy::set_aside(schedule.reserve, Priority::kBackground, facts.kv_units);
  const std::uint64_t held =
      facts.kv.positions_in(facts.kv_units - aside, schedule.largest_chunk());
  const std::uint32_t wanted = options.context == 0 ? facts.context : options.context;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>({wanted, facts.context, held}));
}

}  // namespace

StepLoop::StepLoop(std::unique_ptr<Decoder> a_decoder, std::vector<TokenId> an_end_tokens,
                   const sys::Clock& a_clock, const EngineOptions& options)
    : decoder(std::move(a_decoder)),
      end_tokens(std::move(an_end_tokens)),
      clock(a_clock),
      context(context_of(decoder->facts(), options)),
      caps(options.caps),
      max_waiting(options.schedule.max_queued_requests),
      seed_key(entropy()),
      scheduler(schedule_of(decoder->facts(), options.schedule),
                options.measure_steps ? measure_step_cost(*decoder, clock)
                                      : policy::StepCost(decoder->facts().cost, {})),
      workspaces(std::min<std::size_t>(decoder->facts().workers, decoder->facts().max_logit_rows),
                 model::SamplerWorkspace(decoder->facts().vocabulary)) {
  decoder->look_up_units(scheduler.ledger().units().table());
  thread = std::thread([this] { run(); });
}

StepLoop::~StepLoop() {
  cancel_all.store(true, std::memory_order_release);
  {
    const std::lock_guard lock(mutex);
    draining = true;
    stopping = true;
  }
  work.notify_one();
  thread.join();
}

void StepLoop::run() {
  for (;;) {
    TimePoint began;
    {
      std::unique_lock lock(mutex);
      if (!wait_for_work(lock)) return;
      began = now;
      begin_step();
    }
    tell();  // Who left or is late need not wait for the step.
    if (batch.empty() && copies.empty()) {
      now = clock.now();
      continue;
    }
    compute();
    finish_step(began);
    tell();
  }
}

/// False when the engine is going down.
bool StepLoop::wait_for_work(std::unique_lock<std::mutex>& lock) {
  if (!scheduler.idle()) return true;
  // Walking every page takes milliseconds on a large pool, which whoever comes next would wait for.
  if (times_idle++ % kIdlesPerCheck == 0) scheduler.check();
  books.check(scheduler);
  WEIR_CHECK(scheduler.ledger().held() == 0, "an idle engine holds no pages");
  idle.notify_all();
  work.wait(lock, [this] { return stopping || !scheduler.idle(); });
  if (scheduler.idle()) return false;
  now = clock.now();
  return true;
}

void StepLoop::hear_readers() {
  const bool all = cancel_all.load(std::memory_order_acquire);
  for (const auto& [id, s] : sequences) {
    const TokenStream& stream = s->stream();
    const auto asked = stream.asked();
    if (asked == TokenStream::Asked::kStop) {
      scheduler.stop(id, stream.useful());
    } else if (all || asked == TokenStream::Asked::kCancel) {
      scheduler.cancel(id);
    }
  }
}

Error StepLoop::late(const Sequence& s) const {
  return {Code::kDeadline,
          s.started() ? fmt::format("the deadline passed after {} tokens of the answer",
                                    s.timings(now).answer_tokens)
                      : "the deadline passed while the request was waiting its turn",
          {}};
}

void StepLoop::take_out(const sched::Ended& e) {
  const auto it = sequences.find(e.id);
  if (it == sequences.end()) return;  // It ended with the step before, which has told so.
  Sequence& s = *it->second;
  Finish finish{FinishReason::kStop, s.timings(now), {}};
  if (e.how == sched::End::kCancelled) finish.reason = FinishReason::kCancelled;
  if (e.how == sched::End::kDeadline) {
    finish.reason = FinishReason::kError;
    finish.error = late(s);
  }
  if (s.stream().asked() != TokenStream::Asked::kNothing) {
    delays.push_back(std::max(now - s.stream().asked_at(), TimePoint::duration::zero()));
    books.cancel_took(delays.back());
  }
  books.end(e.how, e.wasted_tokens);
  ended.push_back({std::move(it->second), std::move(finish)});
  sequences.erase(it);
}

/// Asks for the plan and views what it needs: the views stay valid outside the lock until
/// step_done(), since submit() only adds sequences.
void StepLoop::begin_step() {
  batch.clear();
  rows.clear();
  hear_readers();
  const sched::StepPlan& plan = scheduler.plan(instant(now));
  for (const sched::Ended& e : plan.ended) take_out(e);
  for (const sched::Preempted& p : plan.preempted) sequences.at(p.id)->preempted(p);
  for (const sched::Admitted& a : plan.admitted) sequences.at(a.id)->admitted(a, held, now);
  held = plan.held;
  copies.assign(plan.copies.begin(), plan.copies.end());
  for (const sched::StepRow& row : plan.rows) {
    Sequence& s = *sequences.at(row.id);
    if (!row.decode) s.read_chunk();
    batch.push_back({scheduler.tokens(row.id).subspan(row.first, row.count), row.first,
                     scheduler.table(row.id), row.wants_logits ? 1U : 0U});
    rows.push_back({&s, {}});
  }
  record = {{}, plan.decode_rows, plan.prefill_rows, plan.budget, {}};
  if (!plan.empty()) step_began = now;
}

void StepLoop::compute() {
  if (!copies.empty()) decoder->copy(copies);
  const std::span<const float> logits =
      batch.empty() ? std::span<const float>() : decoder->forward({batch});
  now = clock.now();
  const std::span<const float> peaks = decoder->peaks();
  const auto width = static_cast<std::size_t>(decoder->facts().vocabulary);
  const std::size_t blocks = peaks.empty() ? 0 : model::peak_blocks(width);
  choosing.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (batch[i].logit_rows == 0) continue;
    const std::size_t row = choosing.size();
    WEIR_CHECK((row + 1) * width <= logits.size() && (row + 1) * blocks <= peaks.size(),
               "a decoder gives the rows of logits asked for");
    choosing.push_back(
        {&rows[i], {logits.subspan(row * width, width), peaks.subspan(row * blocks, blocks)}});
  }
  decoder->for_each(choosing.size(), [this](std::size_t i, std::size_t worker) {
    WEIR_CHECK(worker < workspaces.size(), "no more workers than rows");
    Row& row = *choosing[i].row;
    row.choice = row.sequence->choose(choosing[i].logits, workspaces[worker]);
  });
}

void StepLoop::finish_step(TimePoint began) {
  results.clear();
  gaps.clear();
  {
    const std::lock_guard lock(mutex);
    step_began.reset();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (batch[i].logit_rows == 0) continue;
      Sequence& s = *rows[i].sequence;
      const Sequence::Choice& choice = rows[i].choice;
      const SequenceId id = s.stream().id();
      if (choice.token) {
        books.deliver();
        if (const auto gap = s.token_came(now)) gaps.push_back(*gap);
      }
      results.push_back({id, choice.token, std::nullopt});
      if (choice.finish) results.back().end = end_of(*choice.finish);
    }
    scheduler.step_done(results, now - began);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Sequence& s = *rows[i].sequence;
      Sequence::Choice& choice = rows[i].choice;
      if (!choice.finish) continue;
      const auto it = sequences.find(s.stream().id());
      Finish finish{*choice.finish, s.timings(now), std::move(choice.error)};
      const bool failed = finish.reason == FinishReason::kError;
      books.end(end_of(finish.reason), failed ? finish.timings.answer_tokens : 0);
      ended.push_back({std::move(it->second), std::move(finish)});
      sequences.erase(it);
    }
    books.step();
    books.check(scheduler);
  }
  if (observer == nullptr) return;
  record.took = now - began;
  record.token_gaps = gaps;
  observer->step(record);
}

/// Outside the lock, since readers and observers may ask the engine something.
void StepLoop::tell() {
  for (Ended& e : ended) {
    const RequestRecord last{e.finish.reason, e.finish.error.code, e.finish.timings,
                             e.sequence->max_tokens(), e.sequence->longest_gap()};
    e.sequence->stream().finish(std::move(e.finish));
    if (observer != nullptr) observer->ended(last);
  }
  for (Row& row : rows) {
    if (row.choice.token && !row.choice.finish) row.sequence->stream().wake();
  }
  for (Ended& e : ended) e.sequence->stream().wake();
  ended.clear();
  for (const auto delay : delays) {
    if (observer != nullptr) observer->left(delay);
  }
  delays.clear();
}

}  // namespace weir::engine
