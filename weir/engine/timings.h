#pragma once

/// The account of one request: where its time went, and what the scheduler did with it.
/// Thread safety: a value.

#include <chrono>
#include <cstdint>

#include "weir/sched/step_plan.h"

namespace weir::engine {

struct Timings {
  std::chrono::nanoseconds queue{0};    ///< From acceptance to the first admission.
  std::chrono::nanoseconds prefill{0};  ///< From there to the first token.
  std::chrono::nanoseconds decode{0};   ///< From the first token to the last.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t cached_tokens = 0;  ///< Of the prompt, found in memory at the first admission.
  std::uint32_t answer_tokens = 0;  ///< Those put; the end token that stops an answer is not.
  std::uint32_t chunks = 0;         ///< Steps that read a part of the prompt.
  std::uint32_t preemptions = 0;
  std::uint32_t recomputed_tokens = 0;  ///< Computed again after pre-emptions.
  /// What held up admission when it had to wait; kNothing when it did not.
  sched::Held waited_for = sched::Held::kNothing;
  [[nodiscard]] std::chrono::nanoseconds ttft() const { return queue + prefill; }
};

}  // namespace weir::engine
