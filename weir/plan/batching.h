#pragma once

/// What batching buys and costs. T(B) = T_fixed + B T_var and X(B) = B / T(B); the knee, where the
/// fixed cost has been paid once by each half, is B = T_fixed / T_var. Decode reads all weights
/// once a step whatever B is, so it turns from bandwidth-bound to compute-bound at B = (W / BW) *
/// peak / (2 P) (roofline, Williams et al. 2009). Thread safety: pure functions.

#include <vector>

#include "weir/plan/units.h"

namespace weir::plan {

struct BatchCost {
  Seconds fixed;
  Seconds each;
  /// Operations of one item that hide behind the fixed cost until they exceed it (decode on a
  /// roofline): T(B) = max(fixed, B hidden) + B each. 0 gives the plain line.
  Seconds hidden{};
};

[[nodiscard]] Seconds batch_time(const BatchCost& cost, double batch);
[[nodiscard]] Rate batch_rate(const BatchCost& cost, double batch);
[[nodiscard]] double knee(const BatchCost& cost);
/// The largest whole batch with T(B) <= slo; 0 when not even one fits. At most `most`.
[[nodiscard]] double largest_within(const BatchCost& cost, Seconds slo, double most);
/// The line through two measured points (batch, time). REQUIRES: different batches.
[[nodiscard]] BatchCost line_through(double b1, Seconds t1, double b2, Seconds t2);

/// A queue that is served in batches of B: utilisation lambda T(B) / B, and the parts of the mean
/// time (Little 1961; the batch as one M/D/1 customer): gather B / (2 lambda), wait lambda T^2 / (2
/// B (1 - rho)), T.
struct BatchQueue {
  double utilisation = 0;
  Seconds gather, wait, service;
  [[nodiscard]] Seconds total() const {
    return gather + wait + service;
  }  ///< Infinite when overloaded.
};
[[nodiscard]] BatchQueue batch_queue(const BatchCost& cost, double batch, Rate arrivals);
/// The smallest batch whose utilisation is `utilisation`: lambda T_fixed / (utilisation - lambda
/// T_var); infinite when no batch is large enough.
[[nodiscard]] double batch_for_utilisation(const BatchCost& cost, Rate arrivals,
                                           double utilisation);

/// Share of slots that idle when all wait for the longest: 1 - mean / max.
[[nodiscard]] double padding_waste(const std::vector<double>& lengths);
[[nodiscard]] double mean(const std::vector<double>& values);
[[nodiscard]] double largest(const std::vector<double>& values);

/// Decode rows at which a step's operations take as long as reading its weights.
[[nodiscard]] double compute_bound_batch(Bytes weights, Bandwidth bandwidth, Ops per_token,
                                         OpRate peak);

}  // namespace weir::plan
