#pragma once

/// The engine's books, which balance after every entry:
///   accepted      = finished + cancelled + failed + running + waiting
///   answer_tokens = delivered_tokens + wasted_tokens
/// Thread safety: none; the engine keeps them under its lock.

#include <chrono>
#include <cstdint>

namespace weir::engine {

struct EngineStats {
  std::uint64_t accepted = 0, finished = 0, cancelled = 0, failed = 0;
  std::uint64_t refused = 0;  ///< Turned away by submit(), for whatever reason.
  std::uint32_t waiting = 0, running = 0;
  std::uint64_t prompt_tokens = 0;     ///< Rows of prompts that were computed.
  std::uint64_t answer_tokens = 0;     ///< Computed.
  std::uint64_t delivered_tokens = 0;  ///< Of answers that finished or still run.
  std::uint64_t wasted_tokens = 0;     ///< Of answers that were cancelled or failed.
  std::uint32_t pages_total = 0, pages_held = 0;
  bool draining = false;  ///< No new requests are taken.
  /// From cancel() to its end: one step at most.
  std::chrono::nanoseconds last_cancel_delay{0};
  std::chrono::nanoseconds longest_cancel_delay{0};
};

enum class Outcome : std::uint8_t { kFinished, kCancelled, kFailed };

class Books {
 public:
  void refuse() { ++stats_.refused; }
  void accept();
  void start();  ///< A waiting request runs.
  void prefill(std::uint64_t tokens) { stats_.prompt_tokens += tokens; }
  void deliver();                                          ///< One token of the running answer.
  void leave_queue(Outcome outcome);                       ///< A waiting request ends.
  void end(Outcome outcome, std::uint64_t answer_tokens);  ///< The running request ends.
  void cancel_took(std::chrono::nanoseconds delay);
  void pages(std::uint32_t total, std::uint32_t held);

  [[nodiscard]] const EngineStats& stats() const { return stats_; }

  /// Aborts when the books do not balance.
  void check() const;

 private:
  void count(Outcome outcome);
  EngineStats stats_;
};

}  // namespace weir::engine
