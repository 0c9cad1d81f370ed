#pragma once

/// The step loop: one thread owns the model, the arena and the ledger, and turns accepted requests
/// into token streams. Text, JSON and sockets are the callers' business.
///
/// Requests run one after another in order of arrival, each with chunked prefill; the queue is
/// bounded. Books: accepted = finished + cancelled + failed + running + waiting, always.
/// Thread safety: every public function may be called from any thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/engine/token_stream.h"
#include "weir/model/model.h"
#include "weir/spec/sampling.h"
#include "weir/sys/clock.h"

namespace weir::engine {

struct Request {
  std::string id;  ///< Carried through logs and answers.
  std::vector<TokenId> prompt;
  SamplingParams sampling;       ///< Seed filled in by submit() when absent.
  std::uint32_t max_tokens = 0;  ///< 0: what the context leaves.
  std::uint32_t min_tokens = 0;  ///< End tokens are not sampled before.
  std::vector<TokenId>
      stop_tokens;  ///< With the vocabulary's end-of-generation tokens unless ignore_eos.
  bool ignore_eos = false;
  std::int32_t top_logprobs = -1;  ///< -1: no logprobs; 0..20: that many alternatives.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::function<void()> on_ready;  ///< See TokenStream.
};

struct EngineOptions {
  std::uint32_t context = 0;          ///< Per sequence; 0 takes the model's.
  std::uint32_t prefill_chunk = 256;  ///< Rows of one prefill step.
  std::uint32_t max_queue = 256;      ///< Waiting requests; one more is refused with kExhausted.
  std::uint32_t kv_pages = 0;         ///< 0: enough for one full context.
};

struct EngineStats {
  std::uint64_t accepted = 0, finished = 0, cancelled = 0, failed = 0, refused = 0;
  std::uint32_t waiting = 0, running = 0;
  std::uint64_t prompt_tokens = 0, answer_tokens = 0;
  std::uint64_t wasted_tokens = 0;  ///< Computed for answers nobody read to the end.
  std::uint32_t pages_total = 0, pages_held = 0;
  std::chrono::nanoseconds last_cancel_delay{
      0};  ///< From cancel() seen to work stopped: one step at most.
};

class Engine {
 public:
  /// `end_tokens`: the vocabulary's end-of-generation tokens.
  Engine(std::unique_ptr<model::Model> model, std::vector<TokenId> end_tokens,
         const sys::Clock& clock, EngineOptions options);
  /// Cancels what runs and joins.
  ~Engine();

  /// Checks everything a request can get wrong (kInvalidArgument, kContextLength), then accepts it
  /// or refuses (kExhausted when the queue is full, kUnavailable when draining).
  [[nodiscard]] Result<std::shared_ptr<TokenStream>> submit(Request request);

  /// Refuses new work, finishes what was accepted; true when all of it is done within `grace`,
  /// otherwise the rest is cancelled.
  bool drain(std::chrono::milliseconds grace);

  [[nodiscard]] EngineStats stats() const;
  [[nodiscard]] const model::Model& model() const;
  [[nodiscard]] std::uint32_t context() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::engine
