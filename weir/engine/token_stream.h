#pragma once

/// The tokens of one answer on their way from the engine to whoever reads them. Bounded: the engine
/// produces at most max_tokens events, all of which fit, so a slow reader holds back nobody.
/// The reader leaving, or having read enough, is an event the engine sees at the next token
/// boundary. Thread safety: one writer (the engine), one reader; cancel() and stop() from anywhere.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/engine/timings.h"
#include "weir/model/sampler.h"
#include "weir/sched/request.h"
#include "weir/sys/clock.h"

namespace weir::engine {

using sched::SequenceId;

enum class FinishReason : std::uint8_t {
  kStop,       ///< An end-of-generation token, a stop token, or stop().
  kLength,     ///< max_tokens, or the context is full.
  kCancelled,  ///< The reader left, or the engine is going down.
  kError,      ///< `error` says why; this request only.
};

/// In the words that users see.
[[nodiscard]] std::string_view name(FinishReason reason);

struct TokenEvent {
  TokenId token = 0;
  float logprob = 0.0F;                  ///< Only when asked for.
  std::vector<model::TokenLogprob> top;  ///< Only when asked for.
};

struct Finish {
  FinishReason reason = FinishReason::kStop;
  Timings timings;
  Error error;  ///< When kError.
};

class TokenStream {
 public:
  /// `on_ready` is called (from the engine's thread, at most once per step, must not block) when
  /// events have come; the reader then calls take(). May be empty for blocking readers.
  /// `clock`, if any, tells when cancel() or stop() came, and outlives the stream.
  explicit TokenStream(std::function<void()> on_ready = {}, const sys::Clock* clock = nullptr,
                       SequenceId id = {});

  /// What the engine calls the request; unique while the engine lives.
  [[nodiscard]] SequenceId id() const { return id_; }

  // Reader.
  /// Appends what has come; never blocks. The finish, once: after the last token.
  [[nodiscard]] std::optional<Finish> take(std::vector<TokenEvent>& events);
  /// Blocks until something has come or `timeout` passed.
  void wait(std::chrono::milliseconds timeout);
  /// Nobody wants the answer any more. The first of cancel() and stop() counts; a finished stream
  /// does not care.
  void cancel();
  /// The first `useful` tokens were enough (they held a stop string); the answer is finished.
  void stop(std::uint32_t useful);

  // Writer.
  enum class Asked : std::uint8_t { kNothing, kCancel, kStop };
  [[nodiscard]] Asked asked() const { return asked_.load(std::memory_order_acquire); }
  /// REQUIRES: something was asked, and a clock.
  [[nodiscard]] sys::Clock::TimePoint asked_at() const { return asked_at_; }
  /// REQUIRES: kStop was asked.
  [[nodiscard]] std::uint32_t useful() const { return useful_; }
  void put(TokenEvent event);
  void finish(Finish finish);
  /// Tells the reader; the engine calls it once a step.
  void wake();

 private:
  void ask(Asked what, std::uint32_t useful);

  const std::function<void()> on_ready_;
  const sys::Clock* const clock_;
  const SequenceId id_;
  std::atomic<bool> asking_{false};  // Decides who is first.
  sys::Clock::TimePoint asked_at_;   // Written once, before asked_.
  std::uint32_t useful_ = 0;         // Likewise.
  std::atomic<Asked> asked_{Asked::kNothing};
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<TokenEvent> events_;  // guarded by mutex_
  std::optional<Finish> finish_;    // guarded by mutex_
  bool unread_ = false;             // guarded by mutex_
};

}  // namespace weir::engine
