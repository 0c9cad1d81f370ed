#include "weir/measure/capacity_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weir::measure {
namespace {

double lowest_missed(std::span<const RatePoint> tried, double target) {
  double lowest = std::numeric_limits<double>::infinity();
  for (const auto& point : tried) {
    if (point.attainment < target) lowest = std::min(lowest, point.rate);
  }
  return lowest;
}

}  // namespace

double capacity(std::span<const RatePoint> tried, double target) {
  const double missed = lowest_missed(tried, target);
  double highest = 0;
  for (const auto& point : tried) {
    if (point.attainment >= target && point.rate < missed) highest = std::max(highest, point.rate);
  }
  return highest;
}

std::optional<double> next_rate(std::span<const RatePoint> tried, const CapacitySpec& spec) {
  if (tried.empty()) return std::clamp(spec.first_rate, spec.least_rate, spec.most_rate);
  const double missed = lowest_missed(tried, spec.target);
  const double met = capacity(tried, spec.target);
  if (std::isinf(missed)) {
    if (met >= spec.most_rate) return std::nullopt;
    return std::min(met * 2, spec.most_rate);
  }
  if (met == 0) {
    if (missed <= spec.least_rate) return std::nullopt;
    return std::max(missed / 2, spec.least_rate);
  }
  if (missed / met <= spec.precision) return std::nullopt;
  return std::sqrt(met * missed);
}

}  // namespace weir::measure
