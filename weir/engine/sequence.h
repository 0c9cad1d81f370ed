#pragma once

/// One accepted request on its way to its last token: what has been computed, where its keys and
/// values lie, and what comes next.
/// Thread safety: none; the engine's thread, once the request runs.

#include <memory>
#include <optional>
#include <vector>

#include "weir/engine/engine.h"
#include "weir/kv/page_pool.h"
#include "weir/model/sampler.h"

namespace weir::engine {

class Sequence {
 public:
  /// REQUIRES: request checked, its seed drawn.
  Sequence(Request request, std::shared_ptr<TokenStream> stream, sys::Clock::TimePoint accepted_at);

  [[nodiscard]] TokenStream& stream() const { return *stream_; }
  [[nodiscard]] std::size_t prompt_size() const { return request_.prompt.size(); }
  [[nodiscard]] std::uint32_t answer_size() const { return answer_size_; }
  [[nodiscard]] bool started() const { return started_; }
  [[nodiscard]] bool past_deadline(sys::Clock::TimePoint now) const {
    return request_.deadline.has_value() && *request_.deadline <= now;
  }

  /// Leaves the queue. `end_tokens`: the vocabulary's.
  void start(std::span<const TokenId> end_tokens, std::int32_t vocabulary,
             sys::Clock::TimePoint now);

  /// The rows of the next step, at most `chunk` of them, with the pages they need taken from
  /// `pool`. Views stay valid until the next call. REQUIRES: the pool has the pages.
  [[nodiscard]] model::SequenceRows next_rows(std::uint32_t chunk, kv::PagePool& pool);

  [[nodiscard]] bool in_prompt() const { return computed_ < request_.prompt.size(); }

  /// Takes in what the step over next_rows() gave: one row of logits, or none in mid-prompt.
  /// Puts the token chosen, if any; the reason to stop, if this was the last.
  struct Step {
    bool token = false;
    std::optional<FinishReason> finish;
    Error error;  ///< When kError.
  };
  [[nodiscard]] Step took(std::span<const float> logits, model::SamplerWorkspace& workspace,
                          sys::Clock::TimePoint now);

  void give_back_pages(kv::PagePool& pool);

  [[nodiscard]] Timings timings(sys::Clock::TimePoint now) const;

 private:
  Request request_;
  std::shared_ptr<TokenStream> stream_;
  sys::Clock::TimePoint accepted_at_, started_at_, first_at_, last_at_;
  bool started_ = false;
  std::optional<model::Sampler> sampler_;
  std::vector<TokenId> stops_;   ///< Sorted: any of these ends the answer.
  std::vector<PageId> pages_;    ///< Cover positions 0 .. computed_ - 1 and the step in flight.
  std::uint32_t computed_ = 0;   ///< Positions whose keys and values are in the arena.
  std::uint32_t in_flight_ = 0;  ///< Rows of the step in flight.
  TokenId last_token_ = 0;       ///< The row of the next decode step.
  std::uint32_t answer_size_ = 0;
};

}  // namespace weir::engine
