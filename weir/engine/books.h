#pragma once

/// The engine's own books, kept apart from the scheduler's so that one checks the other:
///   accepted      = finished + cancelled + failed + running + waiting
///   answer_tokens = delivered_tokens + wasted_tokens
/// Thread safety: none; the engine keeps them under its lock.

#include <array>
#include <chrono>
#include <cstdint>

#include "weir/sched/scheduler.h"
#include "weir/spec/priority.h"

namespace weir::engine {

/// One priority class, at one moment.
struct ClassStats {
  std::uint32_t running = 0;
  std::uint32_t units_held = 0;      ///< By it and by none above it.
  std::uint32_t units_reserved = 0;  ///< For it and those above it.
};

/// Everything countable, at one moment.
struct EngineStats {
  std::uint64_t accepted = 0, finished = 0, cancelled = 0;
  std::uint64_t failed = 0;   ///< Late ones included.
  std::uint64_t late = 0;     ///< Ended by their deadline.
  std::uint64_t refused = 0;  ///< Turned away by submit(), for whatever reason.
  std::uint32_t waiting = 0, running = 0;
  std::uint64_t waiting_tokens = 0;

  std::uint64_t steps = 0;
  std::uint64_t prompt_tokens = 0;      ///< Rows of prompts computed for the first time,
  std::uint64_t recomputed_tokens = 0;  ///< and again after a pre-emption.
  std::uint64_t queried_tokens = 0;     ///< Of prompts, looked up in the prefix cache,
  std::uint64_t cached_tokens = 0;      ///< and found there.
  std::uint64_t answer_tokens = 0;      ///< Computed.
  std::uint64_t delivered_tokens = 0;   ///< Of answers that finished or still run.
  std::uint64_t wasted_tokens = 0;  ///< Of answers that were cancelled or failed, or past a stop.
  std::uint64_t memory_preemptions = 0, priority_preemptions = 0;

  /// Of KV (spec/kv_units.h): pages, where windows do not cut these.
  std::uint32_t units_total = 0, units_held = 0, units_cached = 0;
  std::uint64_t evicted_pages = 0, copied_pages = 0;
  std::uint64_t evicted_windows = 0;  ///< Windowed units of a cached page, taken alone.
  std::array<ClassStats, kPriorities> by_class;

  bool draining = false;  ///< No new requests are taken.
  /// From cancel() or stop() to its end: one step at most.
  std::chrono::nanoseconds last_cancel_delay{0};
  std::chrono::nanoseconds longest_cancel_delay{0};
};

class Books {
 public:
  void refuse() { ++refused_; }
  void accept() { ++accepted_; }
  void step() { ++steps_; }
  void deliver() { ++delivered_tokens_; }  ///< One token of a running answer.
  /// `answer` tokens had been delivered, of which `wasted` turn out to be for nothing.
  void end(sched::End how, std::uint32_t wasted);
  void cancel_took(std::chrono::nanoseconds delay);

  [[nodiscard]] EngineStats stats(const sched::Scheduler& scheduler) const;

  /// Aborts when the books do not balance, or the scheduler's say something else.
  void check(const sched::Scheduler& scheduler) const;

 private:
  std::uint64_t accepted_ = 0, finished_ = 0, cancelled_ = 0, failed_ = 0, late_ = 0, refused_ = 0;
  std::uint64_t steps_ = 0, delivered_tokens_ = 0, wasted_tokens_ = 0;
  std::chrono::nanoseconds last_cancel_delay_{0}, longest_cancel_delay_{0};
};

}  // namespace weir::engine
