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

void Scheduler::Passed::add(const Sequence& s, Held why) {
  if (why == Held::kGroup) {
    groups |= 1U << s.group;
  } else {
    up_to = s.request.priority;
  }
}

std::optional<SequenceId> Scheduler::first_in_order(Instant now, const Passed& passed) const {
  std::optional<SequenceId> best;
  policy::Waiting best_waiting;
  for (SequenceId id : waiting_) {
    const Sequence& s = at(id);
    const Sequence* leader = leader_of(s);
    if (leader != nullptr && leader->answer() == 0) continue;
    if (passed.anyone() && passed.includes(s)) continue;
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

std::uint64_t Scheduler::expected_units(const Sequence& s) const {
  const std::uint32_t left = std::max(1U, s.size() - s.computed);
  return ledger_.units().shape().of_sequence(expected_positions(s),
                                             std::min(left, options_.largest_chunk()));
}

std::uint64_t Scheduler::units_promised(Priority from) const {
  std::uint64_t units = 0;
  for (SequenceId id : running_) {
    const Sequence& s = at(id);
    if (s.request.priority < from) continue;
    const std::uint64_t expected = expected_units(s);
    const std::uint32_t have = ledger_.held_by(id);
    units += expected > have ? expected - have : 0;
  }
  return units;
}

policy::Usage Scheduler::places() const {
  policy::Usage usage;
  usage.total = options_.max_running;
  usage.free = std::int64_t{usage.total} - static_cast<std::int64_t>(running_.size());
  if (options_.reserve.empty()) return usage;
  for (SequenceId id : running_) {
    for (std::size_t p = 0; p <= static_cast<std::size_t>(at(id).request.priority); ++p)
      ++usage.from[p];
  }
  return usage;
}

policy::Usage Scheduler::promised_units() const {
  policy::Usage usage;
  usage.total = ledger_.total();
  usage.free = std::int64_t{ledger_.available()} -
               static_cast<std::int64_t>(units_promised(Priority::kBackground));
  if (options_.reserve.empty()) return usage;
  for (std::size_t p = 0; p < kPriorities; ++p) {
    usage.from[p] =
        ledger_.held_from(static_cast<std::uint8_t>(p)) + units_promised(static_cast<Priority>(p));
  }
  return usage;
}

void Scheduler::admit(Instant now, StepPlan& plan) {
  Passed passed;
  while (!waiting_.empty()) {
    const auto id = first_in_order(now, passed);
    if (!id) {
      if (!passed.anyone()) plan.held = Held::kLeader;
      return;
    }
    Sequence& s = at(*id);
    const Held held = chunk_of(s, plan) == 0 ? Held::kBudget : obstacle(s).held;
    const bool may_overtake =
        !passed.up_to ||
        (policy::takes_nothing_from(options_.reserve, *passed.up_to, 1, places()) &&
         policy::takes_nothing_from(options_.reserve, *passed.up_to, units_wanted(s),
                                    promised_units()));
    if (held != Held::kNothing || !may_overtake) {
      if (!passed.anyone()) plan.held = held;
      if (held == Held::kBudget) return;
      if (held != Held::kGroup && options_.reserve.empty()) return;
      passed.add(s, held);
      continue;
    }
    start(s, now, plan);
    // It is still the turn of whoever was passed over.
    if (!passed.anyone()) ++turn_;
    const std::uint32_t count = chunk_of(s, plan);
    if (count > 0 && grow(s, s.computed + count).held == Held::kNothing)
      place_chunk(s, count, plan);
  }
}

bool Scheduler::forks(const Sequence& s) const {
  const Sequence* leader = leader_of(s);
  // A leader that was pre-empted may be running again and not yet have its prompt back.
  // And one that waited so long that the leader's window has moved on reads its prompt itself.
  return leader != nullptr && leader->running && leader->computed + 1 >= s.prompt &&
         ledger_.can_fork(*s.request.leader, s.prompt - 1);
}

std::uint64_t Scheduler::units_wanted(const Sequence& s) const {
  const std::uint64_t wanted = expected_units(s);
  // Pages that others hold and this one will share take no room, but for their windows, which may
  // part. A fork copies the last of them.
  const std::uint64_t shared = forks(s)
                                   ? (s.prompt - 1) / kPageTokens * ledger_.units().shape().whole
                                   : ledger_.match(s.request.space, s.tokens).held_units;
  return wanted - std::min(shared, wanted);
}

Scheduler::Obstacle Scheduler::obstacle(const Sequence& s) const {
  const Priority p = s.request.priority;
  if (!options_.length_groups.empty()) {
    const auto together = std::count_if(running_.begin(), running_.end(),
                                        [&](SequenceId id) { return at(id).group == s.group; });
    if (together >= options_.length_groups[s.group].most_running)
      return {Held::kGroup, Priority::kCritical, s.group};
  }
  // A bound of the reserve is looked at first: where one is met, only those under it make room.
  const policy::Usage in_places = places();
  if (const auto most = policy::bound_met(options_.reserve, p, 1, in_places))
    return {in_places.free < 1 ? Held::kSequences : Held::kReserved, *most, {}};
  if (in_places.free < 1) return {Held::kSequences, Priority::kCritical, {}};
  const std::uint64_t wanted = units_wanted(s);
  const policy::Usage in_units = promised_units();
  const bool scarce = in_units.free < static_cast<std::int64_t>(wanted);
  if (const auto most = policy::bound_met(options_.reserve, p, wanted, in_units))
    return {scarce ? Held::kPages : Held::kReserved, *most, {}};
  if (scarce) return {Held::kPages, Priority::kCritical, {}};
  return {};
}

Scheduler::Obstacle Scheduler::grow(const Sequence& s, std::uint32_t positions) {
  const SequenceId id = s.request.id;
  if (!options_.reserve.empty()) {
    if (const std::uint32_t wanted = ledger_.units_needed(id, positions); wanted > 0) {
      policy::Usage usage{ledger_.total(), ledger_.available(), {}};
      for (std::size_t p = 0; p < kPriorities; ++p)
        usage.from[p] = ledger_.held_from(static_cast<std::uint8_t>(p));
      if (const auto most =
              policy::bound_met(options_.reserve, s.request.priority, wanted, usage)) {
        return {Held::kReserved, *most, {}};
      }
    }
  }
  if (ledger_.reserve(id, positions)) return {};
  return {Held::kPages, Priority::kCritical, {}};
}

void Scheduler::make_way(Instant now, StepPlan& plan) {
  // Before any row is placed, while everyone can still be asked to leave.
  Passed passed;
  while (const auto id = first_in_order(now, passed)) {
    const Sequence& s = at(*id);
    Obstacle o = obstacle(s);
    while (o.held != Held::kNothing && preempt_for(s, PreemptionReason::kPriority, now, o, plan))
      o = obstacle(s);
    if (o.held != Held::kGroup) return;
    passed.add(s, o.held);
  }
}

void Scheduler::start(Sequence& s, Instant now, StepPlan& plan) {
  const SequenceId id = s.request.id;
  leave_queue(id);
  if (forks(s)) {
    s.computed = s.prompt - 1;
    ledger_.fork(*s.request.leader, id, static_cast<std::uint8_t>(s.request.priority), s.computed);
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
