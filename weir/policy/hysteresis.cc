#include "weir/policy/hysteresis.h"

#include <algorithm>
#include <cmath>

#include "weir/base/check.h"

namespace weir::policy {

Hysteresis::Hysteresis(const HysteresisOptions& options) : options_(options) {
  WEIR_CHECK(options.least <= options.most, "the least is not more than the most");
  WEIR_CHECK(options.most_down > 0 && options.most_down <= 1, "a fraction of the replicas may go");
}

ScaleDecision Hysteresis::decide(std::uint32_t current, std::uint32_t demand, Instant now) {
  if (!started_) first_ = now;
  started_ = true;
  const std::uint64_t asked = std::uint64_t{demand} + options_.reserve;
  const auto wanted =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(asked, options_.least, options_.most));
  while (!maxima_.empty() && maxima_.back().wanted <= wanted) maxima_.pop_back();
  maxima_.push_back({now, wanted});
  while (maxima_.front().at < now - options_.low_window) maxima_.pop_front();

  if (wanted > current)
    return {wanted, asked > options_.most ? ScaleReason::kAtTheMost : ScaleReason::kUp};
  if (asked > options_.most && current >= options_.most)
    return {options_.most, ScaleReason::kAtTheMost};
  const std::uint32_t highest = maxima_.front().wanted;
  if (highest >= current)
    return {current, wanted < current ? ScaleReason::kWaiting : ScaleReason::kEnough};
  // A window that has only begun has seen nothing yet.
  if (now - first_ < options_.low_window) return {current, ScaleReason::kWaiting};
  const auto step = std::max(1U, static_cast<std::uint32_t>(current * options_.most_down));
  return {std::max(highest, current - step), ScaleReason::kDown};
}

std::uint32_t proportional_replicas(std::uint32_t current, double observed, double target) {
  WEIR_CHECK(std::isfinite(observed) && observed >= 0 && std::isfinite(target) && target > 0,
             "a signal is finite and its target positive");
  const double wanted = std::ceil(current * observed / target * (1 - 1e-12));
  return static_cast<std::uint32_t>(std::min(wanted, 4e9));
}

}  // namespace weir::policy
