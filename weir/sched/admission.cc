// Who among the waiting is next, whether it fits, and how it starts.

#include <algorithm>

#include "weir/base/math.h"
#include "weir/sched/scheduler.h"

namespace weir::sched {

Duration Scheduler::remaining_service(const Sequence& s) const {
  const std::uint32_t left = s.size() - s.computed;
  const std::uint32_t chunks = ceil_div(left, options_.max_chunk);
  const std::uint32_t answer =
      lengths_.expect_beyond(0.5, s.answer(), s.request.max_tokens) - s.answer();
  const auto running = std::max<std::uint32_t>(1, this->running());
  return chunks * cost_.estimate({std::min(left, options_.max_chunk), left}) +
         answer * cost_.estimate({running, running * std::uint64_t{s.size()}});
}

policy::Waiting Scheduler::as_waiting(const Sequence& s) const {
  return {s.arrival_number,
          s.arrived,
          s.request.priority,
          s.preemptions > 0,
          s.request.tenant,
          s.request.deadline,
          s.request.deadline ? remaining_service(s) : Duration{}};
}

const Scheduler::Sequence* Scheduler::leader_of(const Sequence& s) const {
  if (!s.request.leader || s.preemptions > 0) return nullptr;
  const auto it = sequences_.find(*s.request.leader);
  return it == sequences_.end() ? nullptr : &it->second;
}

std::optional<SequenceId> Scheduler::first_in_order(Instant now) const {
  std::optional<SequenceId> best;
  policy::Waiting best_waiting;
  for (SequenceId id : waiting_) {
    const Sequence& s = at(id);
    const Sequence* leader = leader_of(s);
    if (leader != nullptr && leader->answer() == 0) continue;
    const policy::Waiting w = as_waiting(s);
    if (!best || policy::before(w, best_waiting, turn_, now, shares_, options_.order)) {
      best = id;
      best_waiting = w;
    }
  }
  return best;
}

std::uint32_t Scheduler::expected_positions(const Sequence& s) const {
  if (options_.admission == Admission::kWorstCase) return s.prompt + s.request.max_tokens;
  if (options_.admission == Admission::kGreedy)
    return std::min(s.size() + kPageTokens, s.prompt + s.request.max_tokens);
  return s.prompt +
         lengths_.expect_beyond(options_.length_quantile, s.answer(), s.request.max_tokens);
}

std::uint64_t Scheduler::pages_promised() const {
  std::uint64_t pages = 0;
  for (SequenceId id : running_) {
    const auto expected = ceil_div(expected_positions(at(id)), kPageTokens);
    const auto have = static_cast<std::uint32_t>(ledger_.table(id).size());
    pages += expected > have ? expected - have : 0;
  }
  return pages;
}

void Scheduler::admit(Instant now, StepPlan& plan) {
  while (!waiting_.empty()) {
    const auto id = first_in_order(now);
    if (!id) {
      plan.held = Held::kLeader;
      return;
    }
    Sequence& s = at(*id);
    plan.held = chunk_of(s, plan) == 0 ? Held::kBudget : obstacle(s);
    if (plan.held != Held::kNothing) return;
    start(s, now, plan);
    const std::uint32_t count = chunk_of(s, plan);
    if (count > 0 && ledger_.reserve(*id, s.computed + count)) place_chunk(s, count, plan);
  }
}

bool Scheduler::forks(const Sequence& s) const {
  const Sequence* leader = leader_of(s);
  // A leader that was pre-empted may be running again and not yet have its prompt back.
  return leader != nullptr && leader->running && leader->computed + 1 >= s.prompt;
}

Held Scheduler::obstacle(const Sequence& s) const {
  if (running_.size() >= options_.max_running) return Held::kSequences;
  const auto wanted = ceil_div(expected_positions(s), kPageTokens);
  // Pages that others hold and this one will share take no room. A fork copies the last of them.
  const std::uint32_t shared =
      forks(s) ? (s.prompt - 1) / kPageTokens : ledger_.match(s.request.space, s.tokens).held_pages;
  const bool fits = pages_promised() + wanted - std::min(shared, wanted) <= ledger_.available();
  return fits ? Held::kNothing : Held::kPages;
}

void Scheduler::make_way(Instant now, StepPlan& plan) {
  // Before any row is placed, while everyone can still be asked to leave.
  const auto id = first_in_order(now);
  if (!id) return;
  const Sequence& s = at(*id);
  while (obstacle(s) != Held::kNothing) {
    if (!preempt_for(s, PreemptionReason::kPriority, now, plan)) return;
  }
}

void Scheduler::start(Sequence& s, Instant now, StepPlan& plan) {
  const SequenceId id = s.request.id;
  leave_queue(id);
  ++turn_;
  if (forks(s)) {
    s.computed = s.prompt - 1;
    ledger_.fork(*s.request.leader, id, s.computed);
  } else {
    s.computed =
        ledger_.open(id, s.request.space, static_cast<std::uint8_t>(s.request.priority), s.tokens);
  }
  ledger_.expect(id, s.prompt + s.request.max_tokens);
  s.running = true;
  s.waited = now - s.arrived;
  running_.push_back(id);
  plan.admitted.push_back({id, s.computed, now - s.arrived, s.preemptions > 0});
}

}  // namespace weir::sched
