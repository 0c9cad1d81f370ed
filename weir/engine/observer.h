#pragma once

/// Who wants to know what the engine does, step by step and request by request: metrics.
/// Called on the engine's thread outside its lock; must not block. Thread safety: as the
/// implementation; the engine calls from its one thread.

#include <chrono>
#include <cstdint>
#include <span>

#include "weir/engine/token_stream.h"

namespace weir::engine {

struct StepRecord {
  std::chrono::nanoseconds took{0};  ///< From the step before, or from waking up, to its results.
  std::uint32_t decode_rows = 0, prefill_rows = 0;
  std::uint32_t budget = 0;  ///< Rows that the inter-token target allowed.
  /// For each answer that got a token which was not its first: the time since the one before.
  std::span<const std::chrono::nanoseconds> token_gaps;
};

struct RequestRecord {
  FinishReason reason = FinishReason::kStop;
  Code error = Code::kInternal;  ///< When kError.
  Timings timings;
  std::uint32_t max_tokens = 0;
  std::chrono::nanoseconds longest_gap{0};  ///< Between two of its tokens.
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void step(const StepRecord& record) = 0;
  virtual void ended(const RequestRecord& record) = 0;
  /// From cancel() or stop() to the boundary at which it took effect.
  virtual void left(std::chrono::nanoseconds delay) = 0;
};

}  // namespace weir::engine
