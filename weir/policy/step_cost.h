#pragma once

/// How long a step takes: T = max(weights / bandwidth, rows * ops / peak) + KV bytes / bandwidth +
/// overhead (the roofline; Williams et al. 2009), fitted at start and corrected by every step that
/// ran: each of the two bounds by the steps in which it binds. More work never takes less time, in
/// the model, whatever was learnt. And its inverse: how many rows fit a target inter-token latency
/// (Sarathi-Serve, Agrawal et al. 2024, section 4.2). Thread safety: none; one owner.

#include <cstdint>

#include "weir/spec/time.h"

namespace weir::policy {

struct StepWork {
  std::uint32_t rows = 0;       ///< Decode rows and prefill tokens together.
  std::uint64_t kv_tokens = 0;  ///< Positions that attention reads, summed over sequences.
};

struct StepCostShape {
  double weight_bytes = 0;  ///< Read once a step.
  double ops_per_row = 0;   ///< Multiplications and additions of one row through the weights.
  double kv_bytes_per_token = 0;
};

struct MachineRates {
  double bytes_per_second = 20e9;
  double ops_per_second = 100e9;
  double overhead_seconds = 1e-4;
};

class StepCost {
 public:
  StepCost(const StepCostShape& shape, const MachineRates& rates) : shape_(shape), rates_(rates) {}

  [[nodiscard]] Duration estimate(const StepWork& work) const;

  /// Learns from a step that took `took`: the correction moves a tenth of the way, and a step
  /// counts as at most twice as slow or fast as modelled, so that a stall is not taken for the
  /// machine's speed.
  void observe(const StepWork& work, Duration took);

  /// The most rows, `work.rows` included, that a step with this KV reads may have within `target`;
  /// at least work.rows.
  [[nodiscard]] std::uint32_t rows_within(Duration target, const StepWork& work,
                                          std::uint32_t most) const;

 private:
  struct Bounds {
    double memory_seconds;
    double compute_seconds;
  };
  [[nodiscard]] Bounds bounds(const StepWork& work) const;
  StepCostShape shape_;
  MachineRates rates_;
  double memory_correction_ = 1;   ///< Measured over modelled, where the weights' bytes bind,
  double compute_correction_ = 1;  ///< and where the rows' operations do.
};

}  // namespace weir::policy
