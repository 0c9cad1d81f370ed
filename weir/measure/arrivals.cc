#include "weir/measure/arrivals.h"

#include <cmath>

#include "weir/base/check.h"
#include "weir/measure/random_draw.h"

namespace weir::measure {

Status validate(const ArrivalSpec& spec) {
  const auto is_rate = [](double rate) { return rate >= 1e-3 && rate <= 1e6; };
  if (!is_rate(spec.rate) || (spec.end_rate != 0 && !is_rate(spec.end_rate))) {
    return fail(Code::kInvalidArgument, "a rate is between 0.001 and 1000000 requests a second",
                "rate");
  }
  if (spec.burstiness != 0 && !(spec.burstiness >= 0.01 && spec.burstiness <= 1e4)) {
    return fail(Code::kInvalidArgument,
                "burstiness is 0 (constant gaps) or between 0.01 and 10000 (1: Poisson)",
                "burstiness");
  }
  return {};
}

std::vector<Duration> arrival_times(const ArrivalSpec& spec, std::uint32_t count) {
  WEIR_CHECK(validate(spec).has_value(), "an arrival process is validated before it is drawn");
  std::vector<double> units(count);  // A process of rate 1.
  double sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    sum += spec.burstiness == 0 ? 1 : Draw(spec.seed, Stream::kArrival, i).gamma(spec.burstiness);
    units[i] = sum;
  }
  // With so few draws chance alone would move the mean rate by percents between seeds.
  const double scale = count == 0 ? 1 : count / sum;
  const double end_rate = spec.end_rate == 0 ? spec.rate : spec.end_rate;
  // The ramp brings `count` requests at its mean rate, so it lasts count / mean.
  const double length = count / ((spec.rate + end_rate) / 2);
  const double slope = (end_rate - spec.rate) / length;
  std::vector<Duration> times(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    // rate * t + slope * t^2 / 2 = u, solved without cancellation for small slopes.
    const double u = units[i] * scale;
    const double root = std::sqrt(std::max(0.0, spec.rate * spec.rate + 2 * slope * u));
    times[i] = from_seconds(2 * u / (spec.rate + root));
  }
  return times;
}

double expected_count(const ArrivalSpec& spec, Duration length) {
  const double end_rate = spec.end_rate == 0 ? spec.rate : spec.end_rate;
  return (spec.rate + end_rate) / 2 * seconds(length);
}

}  // namespace weir::measure
