#pragma once

/// Goodput of prefill and decode together (chunked prefill, Sarathi-Serve) against apart
/// (DistServe, Zhong et al. 2024; Splitwise): the largest arrival rate at which TTFT and the time
/// between tokens both hold. First-order: Poisson arrivals, equal prompts and answers, prefill as
/// M/D/1 with an exponential tail, decode in steady state (Little: batch = rate x tokens x step).
/// Thread safety: pure functions.

#include "weir/plan/units.h"

namespace weir::plan {

struct PhaseCosts {
  double prompt = 0, output = 0;  ///< Tokens of a request.
  Seconds weights;                ///< Reading the weights once: the least time of any step.
  Seconds row;                    ///< Operations of one token.
  Seconds kv;                     ///< Reading one sequence's KV in a step.
  Seconds handoff;                ///< Moving a prompt's KV.
};

struct Slo {
  Seconds first, between;
  double quantile = 0.99;  ///< Of requests that must hold it.
};

/// max(weights, rows * row) + sequences * kv.
[[nodiscard]] Seconds step_time(const PhaseCosts& c, double rows, double sequences);

/// The largest rate of `replicas` that each do both, the chunk chosen so that every step holds
/// slo.between.
[[nodiscard]] Rate goodput_together(const PhaseCosts& c, const Slo& slo, double replicas);

/// The largest rate of `prefill` replicas that hand over to `decode` replicas.
[[nodiscard]] Rate goodput_apart(const PhaseCosts& c, const Slo& slo, double prefill,
                                 double decode);

}  // namespace weir::plan
