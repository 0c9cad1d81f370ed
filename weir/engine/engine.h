#pragma once

/// The step loop: one thread runs the model over what the scheduler plans, and turns accepted
/// requests into token streams. Text, JSON and sockets are the callers' business.
///
/// Requests run together (continuous batching over paged KV, weir/sched); the queue is bounded in
/// requests, tokens and age. Cancellation, deadlines and stop() take effect at the next step
/// boundary, for requests that wait as for those that run. A fault of a request ends that request
/// only. What a request answers does not depend on what runs beside it.
///
/// Thread safety: every public function may be called from any thread. A request's on_ready and
/// the observer run on the engine's thread, outside its locks.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/engine/books.h"
#include "weir/engine/decoder.h"
#include "weir/engine/observer.h"
#include "weir/engine/token_stream.h"
#include "weir/model/model.h"
#include "weir/sched/options.h"
#include "weir/spec/sampling.h"
#include "weir/sys/clock.h"

namespace weir::engine {

struct Request {
  std::string id;  ///< Carried through logs and answers.
  std::vector<TokenId> prompt;
  SamplingParams sampling;           ///< Seed filled in by submit() when absent.
  std::uint32_t max_tokens = 0;      ///< 0: what the context leaves.
  std::uint32_t min_tokens = 0;      ///< End tokens are not sampled before.
  std::vector<TokenId> stop_tokens;  ///< With the vocabulary's end-of-generation tokens unless
                                     ///< ignore_eos. At most kMaxStopTokens.
  bool ignore_eos = false;
  std::int32_t top_logprobs = -1;  ///< -1: no logprobs; 0..20: that many alternatives.
  std::optional<std::chrono::steady_clock::time_point> deadline;

  Priority priority = Priority::kStandard;
  policy::TenantId tenant{};  ///< Whose fair share it is served from.
  kv::Namespace space{};      ///< Whose cached prefixes it may share.
  /// Another answer to the same prompt, whose pages this one shares; submitted before.
  std::optional<SequenceId> leader;

  std::function<void()> on_ready;  ///< See TokenStream.

  static constexpr std::size_t kMaxStopTokens = 256;
  static constexpr std::int32_t kMaxTopLogprobs = 20;
};

/// What one request may ask for, besides what the context holds; 0: as much as that.
struct RequestCaps {
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;
};

struct EngineOptions {
  std::uint32_t context = 0;   ///< Per sequence; 0 takes the model's.
  std::uint32_t kv_units = 0;  ///< 0: enough for one full context.
  /// What the decoder bounds (rows, logit rows, pages) is lowered to its bounds.
  sched::Options schedule;
  RequestCaps caps;
  /// Times a few steps before the first request, so that the first budgets are right already.
  bool measure_steps = false;
};

/// What is known of one accepted request while it waits or runs.
struct Account {
  std::string request_id;
  sched::Scheduler::Progress progress;
  Timings timings;
};

struct StepLoop;

class Engine {
 public:
  /// `end_tokens`: the vocabulary's end-of-generation tokens. `clock` outlives the engine and every
  /// stream it gave out.
  Engine(std::unique_ptr<model::Model> model, std::vector<TokenId> end_tokens,
         const sys::Clock& clock, EngineOptions options);
  Engine(std::unique_ptr<Decoder> decoder, std::vector<TokenId> end_tokens, const sys::Clock& clock,
         EngineOptions options);
  /// Cancels what waits and runs, tells their readers, and joins.
  ~Engine();

  /// Who is told of every step from now on; outlives the engine. REQUIRES: before any submit().
  void observe(Observer& observer);

  /// Checks everything a request can get wrong (kInvalidArgument, kContextLength), then accepts it
  /// or refuses (kExhausted when the queue is full, kUnavailable when draining).
  [[nodiscard]] Result<std::shared_ptr<TokenStream>> submit(Request request);

  /// Refuses new work, finishes what was accepted; true when all of it is done within `grace`,
  /// otherwise the rest is cancelled.
  bool drain(std::chrono::milliseconds grace);

  [[nodiscard]] EngineStats stats() const;
  [[nodiscard]] std::optional<Account> account(SequenceId id) const;
  /// How long the step in flight has been running; zero between steps. What never ends is a fault.
  [[nodiscard]] std::chrono::nanoseconds step_age() const;
  [[nodiscard]] const DecoderFacts& facts() const;
  /// Requests that may wait; so many can be submitted at once on an idle engine.
  [[nodiscard]] std::uint32_t max_waiting() const;
  /// Positions of one sequence: the smallest of the model's, the options' and what the pages hold
  /// that are kept for nobody.
  [[nodiscard]] std::uint32_t context() const;

 private:
  std::unique_ptr<StepLoop> loop_;
};

}  // namespace weir::engine
