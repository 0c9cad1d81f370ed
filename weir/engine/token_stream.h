#pragma once

/// The tokens of one answer on their way from the engine to whoever reads them. Bounded: the engine
/// produces at most max_tokens events, all of which fit, so a slow reader holds back nobody.
/// The reader leaving is an event the engine sees at the next token boundary.
/// Thread safety: one writer (the engine), one reader; cancel() from anywhere.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/model/sampler.h"
#include "weir/sys/clock.h"

namespace weir::engine {

enum class FinishReason : std::uint8_t {
  kStop,       ///< An end-of-generation token, or a stop token of the request.
  kLength,     ///< max_tokens, or the context is full.
  kCancelled,  ///< The reader left, or the engine is going down.
  kError,      ///< `error` says why; this request only.
};

/// Where a request's time went.
struct Timings {
  std::chrono::nanoseconds queue{0};
  std::chrono::nanoseconds prefill{0};  ///< From leaving the queue to the first token.
  std::chrono::nanoseconds decode{0};   ///< From the first token to the last.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t cached_tokens = 0;
  std::uint32_t answer_tokens = 0;  ///< Those put; the end token that stops an answer is not.
  [[nodiscard]] std::chrono::nanoseconds ttft() const { return queue + prefill; }
};

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
  /// `clock`, if any, tells when cancel() came, and outlives the stream.
  explicit TokenStream(std::function<void()> on_ready = {}, const sys::Clock* clock = nullptr);

  // Reader.
  /// Appends what has come; never blocks. The finish, once: after the last token.
  [[nodiscard]] std::optional<Finish> take(std::vector<TokenEvent>& events);
  /// Blocks until something has come or `timeout` passed.
  void wait(std::chrono::milliseconds timeout);
  /// The first call counts; a finished stream does not care.
  void cancel();

  // Writer.
  [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  /// REQUIRES: cancelled() and a clock.
  [[nodiscard]] sys::Clock::TimePoint cancelled_at() const;
  void put(TokenEvent event);
  void finish(Finish finish);
  /// Tells the reader; the engine calls it once a step.
  void wake();

 private:
  const std::function<void()> on_ready_;
  const sys::Clock* const clock_;
  std::atomic<bool> cancelling_{false};  // Decides which cancel() is the first.
  sys::Clock::TimePoint cancelled_at_;   // Written once, before cancelled_.
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<TokenEvent> events_;  // guarded by mutex_
  std::optional<Finish> finish_;    // guarded by mutex_
  bool unread_ = false;             // guarded by mutex_
};

}  // namespace weir::engine
