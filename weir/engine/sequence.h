#pragma once

/// One accepted request as the engine keeps it: how its tokens are chosen, and its account. What
/// has been computed of it, and where, is the scheduler's business.
/// Thread safety: choose() on one thread of the step, the engine's or a worker's; everything else
/// under the engine's lock.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weir/engine/engine.h"
#include "weir/model/sampler.h"

namespace weir::engine {

class Sequence {
 public:
  /// Makes all that choosing needs, on the thread that submits. `end_tokens`: the vocabulary's.
  /// REQUIRES: request checked, its seed drawn.
  Sequence(const Request& request, std::span<const TokenId> end_tokens, std::int32_t vocabulary,
           std::shared_ptr<TokenStream> stream, sys::Clock::TimePoint accepted_at);

  [[nodiscard]] TokenStream& stream() const { return *stream_; }
  [[nodiscard]] const std::string& request_id() const { return request_id_; }
  [[nodiscard]] std::uint32_t max_tokens() const { return max_tokens_; }

  /// The next token by its row of logits; puts it into the stream.
  struct Choice {
    std::optional<TokenId> token;
    std::optional<FinishReason> finish;
    Error error;  ///< When kError.
  };
  [[nodiscard]] Choice choose(const model::LogitRow& row, model::SamplerWorkspace& workspace);

  // Its account.
  void admitted(const sched::Admitted& how, sched::Held waited_for, sys::Clock::TimePoint now);
  void preempted(const sched::Preempted& how);
  void read_chunk() { ++timings_.chunks; }
  /// A token has come; the time since the one before, if it was not the first.
  std::optional<std::chrono::nanoseconds> token_came(sys::Clock::TimePoint now);
  [[nodiscard]] bool started() const { return started_at_.has_value(); }
  [[nodiscard]] Timings timings(sys::Clock::TimePoint now) const;
  [[nodiscard]] std::chrono::nanoseconds longest_gap() const { return longest_gap_; }

 private:
  const std::string request_id_;
  const std::uint32_t min_tokens_, max_tokens_;
  const std::int32_t top_logprobs_;
  const std::shared_ptr<TokenStream> stream_;
  const sys::Clock::TimePoint accepted_at_;
  // Whoever chooses:
  model::Sampler sampler_;
  std::vector<TokenId> stops_;  ///< Sorted: any of these ends the answer.
  std::uint32_t chosen_ = 0;
  // Under the engine's lock:
  Timings timings_;
  std::uint32_t lost_ = 0;  ///< Positions computed when it was last pre-empted.
  std::optional<sys::Clock::TimePoint> started_at_;
  sys::Clock::TimePoint first_at_, last_at_;
  std::chrono::nanoseconds longest_gap_{0};
};

}  // namespace weir::engine
