#include "weir/engine/books.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir::engine {

void Books::accept() {
  ++stats_.accepted;
  ++stats_.waiting;
  check();
}

void Books::start() {
  --stats_.waiting;
  ++stats_.running;
  check();
}

void Books::deliver() {
  ++stats_.answer_tokens;
  ++stats_.delivered_tokens;
}

void Books::count(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFinished:
      ++stats_.finished;
      break;
    case Outcome::kCancelled:
      ++stats_.cancelled;
      break;
    case Outcome::kFailed:
      ++stats_.failed;
      break;
  }
}

void Books::leave_queue(Outcome outcome) {
  --stats_.waiting;
  count(outcome);
  check();
}

void Books::end(Outcome outcome, std::uint64_t answer_tokens) {
  --stats_.running;
  count(outcome);
  if (outcome != Outcome::kFinished) {
    stats_.delivered_tokens -= answer_tokens;
    stats_.wasted_tokens += answer_tokens;
  }
  check();
}

void Books::cancel_took(std::chrono::nanoseconds delay) {
  stats_.last_cancel_delay = delay;
  stats_.longest_cancel_delay = std::max(stats_.longest_cancel_delay, delay);
}

void Books::pages(std::uint32_t total, std::uint32_t held) {
  stats_.pages_total = total;
  stats_.pages_held = held;
}

void Books::check() const {
  const EngineStats& s = stats_;
  WEIR_CHECK(s.accepted == s.finished + s.cancelled + s.failed + s.running + s.waiting,
             "every accepted request is finished, cancelled, failed, running or waiting");
  WEIR_CHECK(s.answer_tokens == s.delivered_tokens + s.wasted_tokens,
             "every token computed is delivered or wasted");
  WEIR_CHECK(s.pages_held <= s.pages_total, "no more pages are held than there are");
}

}  // namespace weir::engine
