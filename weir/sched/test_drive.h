#pragma once

/// A third driver of the scheduler, beside the engine and the simulator: virtual time, a step-time
/// model, and a model that is only a hash. Its memory keeps in every slot a hash of the whole
/// prefix, and the next token is read from the slot before it; so a page that is shared, copied,
/// evicted or recomputed wrongly changes an answer, and answers are compared with those of no
/// schedule at all. Every unit of a page holds the same, and those that a row sees through a window
/// are compared before it is computed.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "weir/base/random.h"
#include "weir/sched/scheduler.h"

namespace weir::sched {

/// What the hash model answers to a prompt, computed directly.
class HashModel {
 public:
  static std::uint64_t extend(std::uint64_t prefix, TokenId token) {
    const auto h = philox(prefix, static_cast<std::uint64_t>(token));
    return std::uint64_t{h[0]} << 32 | h[1];
  }
  static TokenId next(std::uint64_t prefix) { return static_cast<TokenId>(prefix % 50000); }
  static std::uint64_t start(kv::Namespace space) {
    return static_cast<std::uint64_t>(space) * 7919 + 1;
  }

  static std::vector<TokenId> answer(kv::Namespace space, std::vector<TokenId> tokens,
                                     std::uint32_t length) {
    std::uint64_t prefix = start(space);
    for (TokenId token : tokens) prefix = extend(prefix, token);
    std::vector<TokenId> answer;
    while (answer.size() < length) {
      answer.push_back(next(prefix));
      prefix = extend(prefix, answer.back());
    }
    return answer;
  }
};

class Drive {
 public:
  explicit Drive(const Options& options,
                 policy::StepCost cost = policy::StepCost({}, {1e9, 1e9, 0.02}))
      : scheduler(options, cost), cost_(cost), memory_(options.ledger.units * kPageTokens, 0) {
    const KvUnits& shape = options.ledger.shape;
    // A row at position p sees p - seen_ .. p through windows.
    seen_ = shape.windowed > 0 ? shape.window - 1 : 0;
  }

  struct Story {
    Request request;
    std::uint32_t length = 0;  ///< Of the answer.
    Instant arrived{};
    std::vector<TokenId> answer;
    std::vector<Instant> token_times;
    std::optional<End> end;
    std::optional<Instant> ended;
    Instant admitted{};
    std::uint32_t cached = 0;
    int preemptions = 0;
  };

  /// Submits a request that will answer `length` tokens (its max_tokens, unless that is set).
  bool submit(Request request, std::uint32_t length) {
    if (request.max_tokens <= 1) request.max_tokens = length;
    Story story;
    story.request = request;
    story.length = length;
    story.arrived = now;
    const SequenceId id = request.id;
    if (!scheduler.arrived(std::move(request), now)) return false;
    stories.emplace(id, std::move(story));
    return true;
  }

  /// One plan and its step. False when there is nothing to do now.
  bool step() {
    const StepPlan& plan = scheduler.plan(now);
    last = plan;
    for (const Ended& e : plan.ended) {
      stories.at(e.id).end = e.how;
      stories.at(e.id).ended = now;
    }
    for (const Admitted& a : plan.admitted) {
      stories.at(a.id).admitted = now;
      stories.at(a.id).cached = a.cached_tokens;
    }
    for (const Preempted& p : plan.preempted) ++stories.at(p.id).preemptions;
    if (plan.empty()) return false;
    for (const kv::PageCopy& c : plan.copies) {
      for (std::uint32_t u = 0; u < units().shape().of_page(); ++u) {
        for (std::uint32_t i = 0; i < c.slots; ++i) slot(c.to, i, u) = slot(c.from, i, u);
      }
    }
    std::vector<RowResult> results;
    for (const StepRow& row : plan.rows) compute(row, results);
    const Duration took = cost_.estimate(plan.work);
    now += took;
    for (const RowResult& r : results) stories.at(r.id).token_times.push_back(now);
    scheduler.step_done(results, took);
    if (checking) scheduler.check();
    for (const StepRow& row : last.rows) {
      if (!scheduler.ledger().contains(row.id)) continue;
      EXPECT_LE(scheduler.ledger().held_by(row.id),
                units().shape().of_sequence(row.first + row.count, 0))
          << "more than the window's windowed units";
    }
    return true;
  }

  /// Steps until everything has ended; time passes to the next deadline when nothing can be done.
  void finish() {
    for (int idle = 0; !scheduler.idle() && idle < 1000;) {
      if (step()) {
        idle = 0;
        continue;
      }
      ++idle;
      if (scheduler.next_deadline()) now = std::max(now, *scheduler.next_deadline());
    }
    ASSERT_TRUE(scheduler.idle()) << "requests are stuck";
    step();  // Reports the last ends.
  }

  void expect_right_answers() const {
    for (const auto& [id, s] : stories) {
      const auto want = HashModel::answer(s.request.space, s.request.prompt, s.length);
      ASSERT_LE(s.answer.size(), want.size());
      ASSERT_TRUE(std::equal(s.answer.begin(), s.answer.end(), want.begin()))
          << "request " << static_cast<std::uint64_t>(id);
      if (s.end == End::kFinished) {
        ASSERT_EQ(s.answer.size(), s.length);
      }
    }
  }

  Scheduler scheduler;
  std::map<SequenceId, Story> stories;
  Instant now{};
  StepPlan last;
  bool checking = true;

 private:
  [[nodiscard]] const kv::UnitTable& units() const { return scheduler.ledger().units(); }
  std::uint64_t& slot(PageId page, std::uint32_t i, std::uint32_t unit) {
    const std::uint32_t of_page = units().shape().of_page();
    const UnitId at = units().table()[std::size_t{index(page)} * of_page + unit];
    EXPECT_NE(at, kNoUnit) << "a gap is read or written";
    return memory_.at(std::size_t{index(at)} * kPageTokens + i);
  }

  void compute(const StepRow& row, std::vector<RowResult>& results) {
    Story& story = stories.at(row.id);
    const auto table = scheduler.table(row.id);
    const auto tokens = scheduler.tokens(row.id);
    ASSERT_LE(row.first + row.count, tokens.size());
    std::uint64_t prefix = HashModel::start(story.request.space);
    const KvUnits& shape = units().shape();
    const std::uint32_t before = row.first - 1;
    // The last unit is a windowed one, where there are any.
    if (row.first > 0)
      prefix = slot(table[before / kPageTokens], before % kPageTokens,
                    seen_ > 0 ? shape.of_page() - 1 : 0);
    for (std::uint32_t p = row.first - std::min(row.first, seen_); p < row.first; ++p) {
      for (std::uint32_t u = 1; u < shape.of_page(); ++u)
        ASSERT_EQ(slot(table[p / kPageTokens], p % kPageTokens, u),
                  slot(table[p / kPageTokens], p % kPageTokens, 0));
    }
    for (std::uint32_t p = row.first; p < row.first + row.count; ++p) {
      prefix = HashModel::extend(prefix, tokens[p]);
      for (std::uint32_t u = 0; u < shape.of_page(); ++u)
        slot(table[p / kPageTokens], p % kPageTokens, u) = prefix;
    }
    ASSERT_EQ(row.wants_logits, row.first + row.count == tokens.size());
    if (!row.wants_logits) return;
    const TokenId token = HashModel::next(prefix);
    story.answer.push_back(token);
    RowResult result{row.id, token, std::nullopt};
    if (story.answer.size() == story.length) result.end = End::kFinished;
    results.push_back(result);
  }

  policy::StepCost cost_;
  std::vector<std::uint64_t> memory_;  ///< [units, kPageTokens]
  std::uint32_t seen_ = 0;
};

/// A prompt of `n` tokens that differ from those of every other `seed`.
inline std::vector<TokenId> prompt_of(std::uint32_t n, std::uint64_t seed) {
  std::vector<TokenId> tokens(n);
  for (std::uint32_t i = 0; i < n; ++i)
    tokens[i] = static_cast<TokenId>(philox(seed, i)[0] % 50000);
  return tokens;
}

inline Request ask(std::uint64_t id, std::vector<TokenId> prompt) {
  Request r;
  r.id = SequenceId{id};
  r.prompt = std::move(prompt);
  return r;
}

}  // namespace weir::sched
