#pragma once

/// What the operator sets of the scheduler. A plain struct, const after construction.

#include <cstdint>

#include "weir/kv/ledger.h"
#include "weir/policy/length_groups.h"
#include "weir/policy/order.h"
#include "weir/policy/reserve.h"
#include "weir/policy/victim.h"
#include "weir/spec/time.h"

namespace weir::sched {

/// How much room an admitted request is taken to need.
enum class Admission : std::uint8_t {
  kWorstCase,   ///< Prompt and max_tokens: never pre-empts for memory, runs fewer at once.
  kOptimistic,  ///< Prompt and the answer length that `length_quantile` of recent answers did not
                ///< exceed.
  kGreedy,  ///< What it has, and the next page: fills memory to the last page, and sends somebody
            ///< away when that runs out.
};

struct Options {
  kv::LedgerOptions ledger;

  std::uint32_t max_running = 64;  ///< Sequences with pages; bounds decode rows.
  std::uint32_t max_rows = 384;    ///< Rows of one step: what the model was built for.
  /// Prefill rows of one sequence in one step. As many as a step may have, so that of two prompts
  /// the first is read before the second and not both until the end of both.
  std::uint32_t max_chunk = 384;
  std::uint32_t max_logit_rows = 64;

  /// The inter-token latency that running answers should see; sets each step's token budget through
  /// the step-time model. 0: the budget is fixed_budget.
  Duration target_itl = std::chrono::milliseconds(50);
  std::uint32_t fixed_budget = 0;
  /// Rows of prefill that a step may always have beside its decode rows, so that prompts advance
  /// even where decode alone exceeds the target.
  std::uint32_t min_prefill_rows = 16;
  bool chunked_prefill =
      true;  ///< false: a prompt is prefilled in one step whatever it costs (for comparison).
  /// Rows of one sequence in one step, at most.
  [[nodiscard]] std::uint32_t largest_chunk() const {
    return chunked_prefill ? max_chunk : max_rows;
  }

  std::uint32_t max_queued_requests = 256;
  std::uint64_t max_queued_tokens = 1'000'000;
  Duration max_queue_age = std::chrono::seconds(120);

  Admission admission = Admission::kOptimistic;
  double length_quantile = 0.9;
  /// Of sequences and of units of KV; none unless asked for, since it idles what it keeps, and a
  /// higher class takes room by pre-emption anyway.
  policy::Reserve reserve;
  policy::LengthGroups length_groups;
  policy::OrderOptions order;
  policy::VictimOptions victim;
};

}  // namespace weir::sched
