#include "weir/sched/scheduler.h"

#include <algorithm>
#include <utility>

#include "weir/base/check.h"
#include "weir/base/math.h"

namespace weir::sched {

Scheduler::Scheduler(const Options& options, const policy::StepCost& cost)
    : options_(options), cost_(cost), ledger_(options.ledger) {
  WEIR_CHECK(options.length_groups.size() <= policy::kMaxLengthGroups, "few groups of lengths");
}

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
  const std::uint32_t units = ledger_.total();
  const auto rows =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(positions, options_.largest_chunk()));
  if (ledger_.units().shape().of_sequence(positions, rows) >
          units - policy::set_aside(options_.reserve, request.priority, units) ||
      ceil_div<std::uint64_t>(positions, kPageTokens) > ledger_.pool().total()) {
    return refuse(Refusal::kNeverFits);
  }
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
  if (!options_.length_groups.empty()) {
    s.group =
        policy::group_of(options_.length_groups,
                         prompt + lengths_.expect(options_.length_quantile, s.request.max_tokens));
  }
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
    ledger_.advance(row.id, s.tokens, s.computed);
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

std::uint32_t Scheduler::running(Priority p) const {
  return static_cast<std::uint32_t>(
      std::count_if(running_.begin(), running_.end(),
                    [&](SequenceId id) { return at(id).request.priority == p; }));
}

std::uint32_t Scheduler::reserved_units(Priority p) const {
  if (p == Priority::kBackground) return 0;
  const std::uint32_t total = ledger_.total();
  const auto below = static_cast<Priority>(static_cast<std::uint8_t>(p) - 1);
  return policy::set_aside(options_.reserve, below, total) -
         policy::set_aside(options_.reserve, p, total);
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
