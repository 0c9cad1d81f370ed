#include "weir/engine/books.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir::engine {

void Books::end(sched::End how, std::uint32_t wasted) {
  switch (how) {
    case sched::End::kFinished:
      ++finished_;
      break;
    case sched::End::kCancelled:
      ++cancelled_;
      break;
    case sched::End::kDeadline:
      ++late_;
      break;
    case sched::End::kFailed:
      ++failed_;
      break;
  }
  delivered_tokens_ -= wasted;
  wasted_tokens_ += wasted;
}

void Books::cancel_took(std::chrono::nanoseconds delay) {
  last_cancel_delay_ = delay;
  longest_cancel_delay_ = std::max(longest_cancel_delay_, delay);
}

EngineStats Books::stats(const sched::Scheduler& scheduler) const {
  const sched::Counts& counts = scheduler.counts();
  const kv::Ledger& ledger = scheduler.ledger();
  const kv::LedgerStats& cache = ledger.stats();
  EngineStats s;
  s.accepted = accepted_;
  s.finished = finished_;
  s.cancelled = cancelled_;
  s.failed = failed_ + late_;
  s.late = late_;
  s.refused = refused_;
  s.waiting = scheduler.waiting();
  s.running = scheduler.running();
  s.waiting_tokens = scheduler.waiting_tokens();
  s.steps = steps_;
  s.prompt_tokens = counts.prompt_rows;
  s.recomputed_tokens = counts.recomputed_rows;
  s.queried_tokens = cache.queried_tokens;
  s.cached_tokens = cache.hit_tokens;
  s.answer_tokens = counts.answer_tokens;
  s.delivered_tokens = delivered_tokens_;
  s.wasted_tokens = wasted_tokens_;
  s.memory_preemptions = counts.memory_preemptions;
  s.priority_preemptions = counts.priority_preemptions;
  s.units_total = ledger.total();
  s.units_held = ledger.held();
  s.units_cached = ledger.cached();
  s.evicted_pages = ledger.evicted().pages;
  s.evicted_windows = ledger.evicted().windows;
  s.copied_pages = cache.copied_pages;
  for (std::size_t p = 0; p < s.by_class.size(); ++p) {
    const auto priority = static_cast<Priority>(p);
    const auto above = static_cast<std::uint8_t>(p + 1);
    s.by_class[p] = {scheduler.running(priority),
                     ledger.held_from(static_cast<std::uint8_t>(p)) - ledger.held_from(above),
                     scheduler.reserved_units(priority)};
  }
  s.last_cancel_delay = last_cancel_delay_;
  s.longest_cancel_delay = longest_cancel_delay_;
  return s;
}

void Books::check(const sched::Scheduler& scheduler) const {
  const EngineStats s = stats(scheduler);
  WEIR_CHECK(s.accepted == s.finished + s.cancelled + s.failed + s.running + s.waiting,
             "every accepted request is finished, cancelled, failed, running or waiting");
  WEIR_CHECK(s.answer_tokens == s.delivered_tokens + s.wasted_tokens,
             "every token computed is delivered or wasted");
  const sched::Counts& counts = scheduler.counts();
  WEIR_CHECK(counts.accepted == s.accepted && counts.wasted_tokens == s.wasted_tokens &&
                 counts.deadline == s.late,
             "the scheduler's books say the same");
}

}  // namespace weir::engine
