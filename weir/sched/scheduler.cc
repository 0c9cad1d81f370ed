#include "weir/sched/scheduler.h"

#include <algorithm>
#include <utility>

#include "weir/base/check.h"
#include "weir/base/math.h"

namespace weir::sched {

Scheduler::Scheduler(const Options& options, const policy::StepCost& cost)
    : options_(options), cost_(cost), ledger_(options.ledger) {}

const Scheduler::Sequence& Scheduler::at(SequenceId id) const {
  const auto it = sequences_.find(id);
  WEIR_CHECK(it != sequences_.end(), "the sequence is known");
  return it->second;
}

Scheduler::Sequence& Scheduler::at(SequenceId id) {
  return const_cast<Sequence&>(std::as_const(*this).at(id));
}

std::span<const TokenId> Scheduler::tokens(SequenceId id) const { return at(id).tokens; }

std::expected<void, Refusal> Scheduler::arrived(Request request, Instant now) {
  WEIR_CHECK(!request.prompt.empty() && request.max_tokens > 0,
             "a request has a prompt and wants an answer");
  WEIR_CHECK(!sequences_.contains(request.id), "a request arrives once");
  const auto refuse = [this](Refusal why) {
    ++counts_.refused;
    return std::unexpected(why);
  };
  const auto prompt = static_cast<std::uint32_t>(request.prompt.size());
  const std::uint64_t positions = std::uint64_t{prompt} + request.max_tokens;
  if (ceil_div<std::uint64_t>(positions, kPageTokens) > ledger_.pool().total())
    return refuse(Refusal::kNeverFits);
  if (waiting_.size() >= options_.max_queued_requests) return refuse(Refusal::kTooManyRequests);
  if (!waiting_.empty()) {  // A single request over the bound is served alone rather than never.
    if (waiting_tokens_ + prompt > options_.max_queued_tokens)
      return refuse(Refusal::kTooManyTokens);
    if (now - at(waiting_.front()).arrived > options_.max_queue_age)
      return refuse(Refusal::kTooOld);
  }
  const SequenceId id = request.id;
  Sequence& s = sequences_[id];
  s.prompt = prompt;
  s.tokens = std::move(request.prompt);
  s.tokens.reserve(positions);
  s.request = std::move(request);
  s.arrival_number = next_arrival_++;
  s.arrived = now;
  shares_.arrived(s.request.tenant);
  enter_queue(id);
  ++counts_.accepted;
  return {};
}

void Scheduler::enter_queue(SequenceId id) {
  const Sequence& s = at(id);
  const auto place = std::find_if(waiting_.begin(), waiting_.end(), [&](SequenceId other) {
    return at(other).arrival_number > s.arrival_number;
  });
  waiting_.insert(place, id);
  waiting_tokens_ += s.size();
}

void Scheduler::leave_queue(SequenceId id) {
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), id));
  waiting_tokens_ -= at(id).size();
}

void Scheduler::cancel(SequenceId id) {
  if (const auto it = sequences_.find(id); it != sequences_.end())
    it->second.asked = End::kCancelled;
}

void Scheduler::stop(SequenceId id, std::uint32_t useful) {
  const auto it = sequences_.find(id);
  if (it == sequences_.end()) return;
  it->second.asked = End::kFinished;
  it->second.useful = useful;
}

std::optional<Scheduler::Progress> Scheduler::progress(SequenceId id) const {
  const auto it = sequences_.find(id);
  if (it == sequences_.end()) return std::nullopt;
  const Sequence& s = it->second;
  return Progress{s.running, s.prompt, s.computed, s.answer(), s.preemptions};
}

void Scheduler::end(SequenceId id, End how, std::uint32_t wasted, std::vector<Ended>& ended) {
  Sequence& s = at(id);
  if (s.running) {
    ledger_.close(id, s.tokens, s.computed);
    running_.erase(std::find(running_.begin(), running_.end(), id));
  } else {
    leave_queue(id);
  }
  shares_.left(s.request.tenant);
  switch (how) {
    case End::kFinished:
      ++counts_.finished;
      lengths_.observe(s.answer());
      break;
    case End::kCancelled:
      ++counts_.cancelled;
      break;
    case End::kDeadline:
      ++counts_.deadline;
      break;
    case End::kFailed:
      ++counts_.failed;
      break;
  }
  counts_.wasted_tokens += wasted;
  ended.push_back({id, how, wasted});
  sequences_.erase(id);
}

void Scheduler::step_done(std::span<const RowResult> results, Duration took) {
  ledger_.copies_done();
  WEIR_CHECK(step_pending_, "a step is reported done once");
  step_pending_ = false;
  cost_.observe(plan_.work, took);
  for (const StepRow& row : plan_.rows) {
    Sequence& s = at(row.id);
    const std::uint32_t again =
        std::min(row.count, s.high_water > row.first ? s.high_water - row.first : 0);
    if (row.decode) {
      ++counts_.decode_rows;
    } else {
      counts_.recomputed_rows += again;
      counts_.prompt_rows += row.count - again;
    }
    s.computed = row.first + row.count;
    s.high_water = std::max(s.high_water, s.computed);
    shares_.charge(s.request.tenant, row.count - again);
    ledger_.publish(row.id, s.tokens, s.computed);
  }
  for (const RowResult& result : results) {
    Sequence& s = at(result.id);
    WEIR_CHECK(result.token || result.end, "a row that wanted logits gives a token or an end");
    if (result.token) {
      s.tokens.push_back(*result.token);
      ++counts_.answer_tokens;
    }
    if (result.end)
      end(result.id, *result.end, *result.end == End::kFinished ? 0 : s.answer(), ended_);
  }
}

void Scheduler::drop_the_gone(Instant now, StepPlan& plan) {
  gone_.clear();
  for (const auto& [id, s] : sequences_) {
    if (s.asked) {
      gone_.emplace_back(id, *s.asked);
    } else if (s.request.deadline && *s.request.deadline <= now) {
      gone_.emplace_back(id, End::kDeadline);
    }
  }
  for (const auto& [id, how] : gone_) {
    const Sequence& s = at(id);
    const std::uint32_t useful = how == End::kFinished ? std::min(s.useful, s.answer()) : 0;
    end(id, how, s.answer() - useful, plan.ended);
  }
}

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
  while (!ledger_.reserve(needy.request.id, positions)) {
    if (!preempt_for(needy, PreemptionReason::kMemory, now, plan)) return false;
  }
  return true;
}

bool Scheduler::preempt_for(const Sequence& needy, PreemptionReason why, Instant now,
                            StepPlan& plan) {
  // Who waits sends away a lower class only; who runs, also those of its own that came later.
  const std::uint64_t needy_arrival =
      why == PreemptionReason::kPriority ? ~std::uint64_t{0} : needy.arrival_number;
  candidates_.clear();
  candidate_ids_.clear();
  for (SequenceId id : running_) {
    const Sequence& s = at(id);
    const bool in_plan = std::any_of(plan.rows.begin(), plan.rows.end(),
                                     [id](const StepRow& row) { return row.id == id; });
    if (id == needy.request.id || in_plan) continue;
    policy::Candidate c;
    c.arrival_number = s.arrival_number;
    c.priority = rank(s, now);
    c.tokens = s.computed;
    for (PageId page : ledger_.table(id)) c.pages_gained += ledger_.pool().references(page) == 1;
    c.preemptions = s.preemptions;
    c.deadline = s.request.deadline;
    c.remaining_service = remaining_service(s);
    candidates_.push_back(c);
    candidate_ids_.push_back(id);
  }
  const policy::PreemptionCosts costs{
      seconds(cost_.estimate({options_.max_chunk, 0})) / options_.max_chunk, 0};
  const auto victim = policy::choose_victim(candidates_, rank(needy, now), needy_arrival, now,
                                            costs, options_.victim);
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
  const std::uint32_t most = options_.chunked_prefill ? options_.max_chunk : options_.max_rows;
  const std::uint32_t left = s.size() - s.computed;
  const std::uint32_t count = std::min({left, most, plan.budget - used});
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
                                            : ledger_.reserve(id, s.computed + count);
    if (!has_room) break;
    place_chunk(s, count, plan);
  }
}

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

std::optional<Instant> Scheduler::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [id, s] : sequences_) {
    if (s.request.deadline && (!next || *s.request.deadline < *next)) next = s.request.deadline;
  }
  return next;
}

void Scheduler::check() const {
  ledger_.check();
  WEIR_CHECK(counts_.accepted == waiting_.size() + running_.size() + counts_.finished +
                                     counts_.cancelled + counts_.failed + counts_.deadline,
             "accepted = waiting + running + ended");
  WEIR_CHECK(waiting_.size() + running_.size() == sequences_.size(),
             "whoever is known waits or runs");
  WEIR_CHECK(ledger_.sequences() == running_.size(), "whoever runs has a table");
  std::uint64_t tokens = 0;
  for (SequenceId id : waiting_) {
    WEIR_CHECK(!at(id).running && !ledger_.contains(id) && at(id).computed == 0,
               "who waits holds nothing");
    tokens += at(id).size();
  }
  WEIR_CHECK(tokens == waiting_tokens_, "waiting tokens are counted");
  for (SequenceId id : running_) {
    const Sequence& s = at(id);
    WEIR_CHECK(s.running && s.computed <= s.size(),
               "who runs has computed no more than its tokens");
    WEIR_CHECK(s.computed <= ledger_.table(id).size() * kPageTokens, "what is computed has pages");
  }
}

}  // namespace weir::sched
