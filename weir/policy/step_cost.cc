#include "weir/policy/step_cost.h"

#include <algorithm>

namespace weir::policy {

StepCost::Bounds StepCost::bounds(const StepWork& work) const {
  const double weights = shape_.weight_bytes / rates_.bytes_per_second;
  const double operations = work.rows * shape_.ops_per_row / rates_.ops_per_second;
  const double both =
      static_cast<double>(work.kv_tokens) * shape_.kv_bytes_per_token / rates_.bytes_per_second +
      rates_.overhead_seconds;
  return {(weights + both) * memory_correction_, (operations + both) * compute_correction_};
}

Duration StepCost::estimate(const StepWork& work) const {
  const Bounds b = bounds(work);
  return from_seconds(std::max(b.memory_seconds, b.compute_seconds));
}

void StepCost::observe(const StepWork& work, Duration took) {
  const Duration modelled = estimate(work);
  if (modelled.count() <= 0 || took.count() <= 0 || work.rows == 0) return;
  const double ratio = std::clamp(seconds(took) / seconds(modelled), 0.5, 2.0);
  const Bounds b = bounds(work);
  double& correction =
      b.compute_seconds > b.memory_seconds ? compute_correction_ : memory_correction_;
  correction = std::clamp(correction * (0.9 + 0.1 * ratio), 0.01, 100.0);
}

std::uint32_t StepCost::rows_within(Duration target, const StepWork& work,
                                    std::uint32_t most) const {
  std::uint32_t low = work.rows;  // Always allowed: decode rows come first.
  std::uint32_t high = std::max(most, work.rows);
  while (low < high) {
    const std::uint32_t middle = high - (high - low) / 2;
    if (estimate({middle, work.kv_tokens}) <= target) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

}  // namespace weir::policy
