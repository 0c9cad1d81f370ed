// What a step is made of: decode rows, then chunks of prompts, and who makes way for them.

#include <algorithm>

#include "weir/base/check.h"
#include "weir/sched/scheduler.h"

namespace weir::sched {

void StepPlan::clear() {
  rows.clear();
  copies.clear();
  admitted.clear();
  preempted.clear();
  ended.clear();
  work = {};
  decode_rows = prefill_rows = budget = 0;
  held = Held::kNothing;
}

const StepPlan& Scheduler::plan(Instant now) {
  WEIR_CHECK(!step_pending_, "the step before was reported done");
  StepPlan& plan = plan_;
  plan.clear();
  plan.ended.swap(ended_);
  drop_the_gone(now, plan);
  make_way(now, plan);
  place_decodes(now, plan);
  plan.budget = token_budget(plan);
  place_prefills(now, plan);
  admit(now, plan);
  plan.copies.assign(ledger_.copies().begin(), ledger_.copies().end());
  step_pending_ = !plan.empty();
  return plan;
}

std::uint32_t Scheduler::token_budget(const StepPlan& plan) const {
  if (!options_.chunked_prefill) return options_.max_rows;
  const std::uint32_t floor = plan.decode_rows + options_.min_prefill_rows;
  std::uint32_t budget = options_.max_rows;
  if (options_.fixed_budget > 0) {
    budget = options_.fixed_budget;
  } else if (options_.target_itl.count() > 0 && plan.decode_rows > 0) {
    // With nobody waiting for a next token there is no latency to protect.
    budget = cost_.rows_within(options_.target_itl, plan.work, options_.max_rows);
  }
  return std::min(std::max(budget, floor), options_.max_rows);
}

Priority Scheduler::rank(const Sequence& s, Instant now) const {
  // Whoever has waited too long is served next, and must then not be sent away again by its class.
  const Duration waited = s.running ? s.waited : now - s.arrived;
  return waited > options_.order.overdue_after ? Priority::kCritical : s.request.priority;
}

std::span<const SequenceId> Scheduler::running_by_right(Instant now) {
  by_right_ = running_;
  std::sort(by_right_.begin(), by_right_.end(), [&](SequenceId a, SequenceId b) {
    const Sequence& x = at(a);
    const Sequence& y = at(b);
    if (rank(x, now) != rank(y, now)) return rank(x, now) > rank(y, now);
    return x.arrival_number < y.arrival_number;
  });
  return by_right_;
}

void Scheduler::place_decodes(Instant now, StepPlan& plan) {
  for (SequenceId id : running_by_right(now)) {
    Sequence& s = at(id);
    if (!s.running || !s.decoding())
      continue;  // Pre-empted for one before it, or still in its prompt.
    if (plan.decode_rows >= std::min(options_.max_rows, options_.max_logit_rows)) break;
    if (!make_room(s, s.size(), now, plan)) continue;
    plan.rows.push_back({id, s.computed, 1, true, true});
    ++plan.decode_rows;
    ++plan.work.rows;
    plan.work.kv_tokens += s.size();
  }
}

bool Scheduler::make_room(Sequence& needy, std::uint32_t positions, Instant now, StepPlan& plan) {
  while (true) {
    const Obstacle obstacle = grow(needy, positions);
    if (obstacle.held == Held::kNothing) return true;
    if (!preempt_for(needy, PreemptionReason::kMemory, now, obstacle, plan)) return false;
  }
}

bool Scheduler::preempt_for(const Sequence& needy, PreemptionReason why, Instant now,
                            const Obstacle& obstacle, StepPlan& plan) {
  // Who waits sends away a lower class only; who runs, also those of its own that came later.
  const std::uint64_t needy_arrival =
      why == PreemptionReason::kPriority ? ~std::uint64_t{0} : needy.arrival_number;
  candidates_.clear();
  candidate_ids_.clear();
  for (SequenceId id : running_) {
    const Sequence& s = at(id);
    const bool in_plan = std::any_of(plan.rows.begin(), plan.rows.end(),
                                     [id](const StepRow& row) { return row.id == id; });
    if (id == needy.request.id || in_plan || !obstacle.helped_by(s)) continue;
    policy::Candidate c;
    c.arrival_number = s.arrival_number;
    c.priority = rank(s, now);
    c.tokens = s.computed;
    c.units_gained = ledger_.held_only_by(id);
    c.preemptions = s.preemptions;
    c.deadline = s.request.deadline;
    c.remaining_service = remaining_service(s);
    candidates_.push_back(c);
    candidate_ids_.push_back(id);
  }
  const policy::PreemptionCosts costs{
      seconds(cost_.estimate({options_.max_chunk, 0})) / options_.max_chunk, 0};
  // Out of turn the overdue would make room for the very ones they sent away.
  const bool out_of_turn =
      why == PreemptionReason::kPriority && !policy::is_for_overdue(turn_, options_.order);
  const Priority right = out_of_turn ? needy.request.priority : rank(needy, now);
  const auto victim =
      policy::choose_victim(candidates_, right, needy_arrival, now, costs, options_.victim);
  if (!victim) return false;
  Sequence& chosen = at(candidate_ids_[victim->which]);
  preempt(chosen, {chosen.request.id, victim->way, why, chosen.computed, needy.request.id}, plan);
  return true;
}

void Scheduler::preempt(Sequence& victim, const Preempted& record, StepPlan& plan) {
  plan.preempted.push_back(record);
  ledger_.close(record.id, victim.tokens, victim.computed);
  running_.erase(std::find(running_.begin(), running_.end(), record.id));
  victim.running = false;
  victim.computed = 0;
  ++victim.preemptions;
  ++(record.why == PreemptionReason::kMemory ? counts_.memory_preemptions
                                             : counts_.priority_preemptions);
  enter_queue(record.id);
}

std::uint32_t Scheduler::chunk_of(const Sequence& s, const StepPlan& plan) const {
  const std::uint32_t used = plan.decode_rows + plan.prefill_rows;
  if (used >= plan.budget) return 0;
  const std::uint32_t left = s.size() - s.computed;
  const std::uint32_t count = std::min({left, options_.largest_chunk(), plan.budget - used});
  const auto logit_rows = static_cast<std::uint32_t>(std::count_if(
      plan.rows.begin(), plan.rows.end(), [](const StepRow& row) { return row.wants_logits; }));
  // Its last row would want logits that no room is left for: stop one short of it.
  return count == left && logit_rows >= options_.max_logit_rows ? count - 1 : count;
}

void Scheduler::place_chunk(const Sequence& s, std::uint32_t count, StepPlan& plan) {
  plan.rows.push_back({s.request.id, s.computed, count, false, s.computed + count == s.size()});
  plan.prefill_rows += count;
  plan.work.rows += count;
  plan.work.kv_tokens += s.computed + count;
}

void Scheduler::place_prefills(Instant now, StepPlan& plan) {
  for (SequenceId id : running_by_right(now)) {
    Sequence& s = at(id);
    if (!s.running || s.decoding()) continue;
    const std::uint32_t count = chunk_of(s, plan);
    if (count == 0) break;
    // A prompt waits for pages and pre-empts nobody, unless nothing else can advance either: then
    // the first by right takes what it needs, so that somebody always does.
    const bool has_room = plan.rows.empty() ? make_room(s, s.computed + count, now, plan)
                                            : grow(s, s.computed + count).held == Held::kNothing;
    if (!has_room) break;
    place_chunk(s, count, plan);
  }
}

}  // namespace weir::sched
