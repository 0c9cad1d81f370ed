#include "weir/plan/disaggregation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "weir/plan/queueing.h"

namespace weir::plan {
namespace {

/// The largest rate that `holds`, which stays false once it is. 0 when none does.
Rate largest_rate(const std::function<bool(Rate)>& holds) {
  double low = 0;
  double high = 1e-3;
  while (high < 1e9 && holds(per_second(high))) {
    low = high;
    high *= 2;
  }
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (holds(per_second(middle)) ? low : high) = middle;
  }
  return per_second(low);
}

/// Sequences decoding at once at `rate` when a step takes what they make it take.
double decoding_at(const PhaseCosts& c, Rate rate, Seconds step) { return rate * step * c.output; }

}  // namespace

Seconds step_time(const PhaseCosts& c, double rows, double sequences) {
  return std::max(c.weights, c.row * rows) + c.kv * sequences;
}

Rate goodput_together(const PhaseCosts& c, const Slo& slo, double replicas) {
  const Rate one = largest_rate([&](Rate rate) {
    // Every step is as long as the SLO between tokens lets it be: then the chunk is largest.
    const Seconds step = slo.between;
    const double sequences = decoding_at(c, rate, step);
    const Seconds room = step - c.kv * sequences;
    if (room < c.weights) return false;
    const double chunk = room / c.row - sequences;
    if (chunk <= 0) return false;
    const Seconds service = step * (c.prompt / chunk);
    if (rate * service >= 1) return false;
    const Seconds first =
        std::max(service, step) + mmc_wait_quantile(1, rate, service, slo.quantile, 0) + step;
    return first <= slo.first;
  });
  return one * replicas;
}

Rate goodput_apart(const PhaseCosts& c, const Slo& slo, double prefill, double decode) {
  const Seconds service = step_time(c, c.prompt, 0);
  return largest_rate([&](Rate rate) {
    const Rate each = rate / prefill;
    if (each * service >= 1) return false;
    // The decode pool in steady state: T = max(W, n row) + n kv with n = rate x output x T. While
    // rate x output x (row + kv) < 1 weights bind, so T = W / (1 - rate x output x kv); beyond, the
    // pool does not keep up.
    const double tokens = (rate / decode).value * c.output;
    if (tokens * (c.row + c.kv).value >= 1) return false;
    const Seconds step = c.weights / (1 - tokens * c.kv.value);
    if (step > slo.between) return false;
    const Seconds first =
        service + mmc_wait_quantile(1, each, service, slo.quantile, 0) + c.handoff + step;
    return first <= slo.first;
  });
}

}  // namespace weir::plan
