#include "weir/plan/ask_common.h"

#include <algorithm>
#include <cmath>

#include "weir/policy/step_cost.h"

namespace weir::plan {

Parameter sizes_parameter() {
  return choice(
      "sizes", {"registry", "decimal"}, "registry",
      "Read a device's memory as the registry has it (H100: 80 GiB), or its number as GB (80 GB)");
}

Bytes memory_of(const Device& device, bool decimal) {
  const double binary = device.memory / gibibytes(1);
  return decimal && binary == std::floor(binary) ? gigabytes(binary) : device.memory;
}

Seconds DecodeStep::time(double rows, double kv_tokens) const {
  policy::StepCostShape shape;
  shape.weight_bytes = active_weight_bytes(model, weights).value;
  shape.ops_per_row = ops_per_token(model).value;
  shape.kv_bytes_per_token = kv_per_token(model, kv).value;
  policy::MachineRates rates;
  rates.bytes_per_second = (device.bandwidth * devices).value;
  rates.ops_per_second = (peak(device, weights) * (devices * efficiency)).value;
  rates.overhead_seconds = 0;
  // StepWork counts whole rows; beyond its range the planner has long left the sane.
  const auto whole_rows = static_cast<std::uint32_t>(std::clamp(rows, 0.0, 4e9));
  const auto whole_tokens = static_cast<std::uint64_t>(std::clamp(kv_tokens, 0.0, 1e18));
  return in_seconds(seconds(policy::StepCost(shape, rates).estimate({whole_rows, whole_tokens})));
}

std::vector<double> doublings(double first, double most) {
  std::vector<double> all;
  for (double v = first; v < most && all.size() < 64; v *= 2) all.push_back(v);
  all.push_back(most);
  return all;
}

}  // namespace weir::plan
