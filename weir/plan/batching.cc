#include "weir/plan/batching.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace weir::plan {

Seconds batch_time(const BatchCost& c, double batch) {
  return std::max(c.fixed, c.hidden * batch) + c.each * batch;
}
Rate batch_rate(const BatchCost& c, double batch) { return batch / batch_time(c, batch); }
double knee(const BatchCost& c) { return c.fixed / (c.each + c.hidden); }

double largest_within(const BatchCost& c, Seconds slo, double most) {
  if (batch_time(c, 1) > slo * (1 + 1e-12)) return 0;
  double largest_batch = most;
  if (c.each.value > 0) largest_batch = std::min(largest_batch, (slo - c.fixed) / c.each);
  if (c.hidden.value > 0) largest_batch = std::min(largest_batch, slo / (c.hidden + c.each));
  return std::clamp(std::floor(largest_batch * (1 + 1e-12)), 1.0, most);
}

BatchCost line_through(double b1, Seconds t1, double b2, Seconds t2) {
  const Seconds each = (t2 - t1) / (b2 - b1);
  return {.fixed = t1 - each * b1, .each = each};
}

BatchQueue batch_queue(const BatchCost& c, double batch, Rate arrivals) {
  BatchQueue q;
  q.service = batch_time(c, batch);
  q.utilisation = arrivals * q.service / batch;
  q.gather = batch / (2 * arrivals);
  q.wait = q.utilisation < 1 ? q.utilisation * q.service / (2 * (1 - q.utilisation))
                             : Seconds{std::numeric_limits<double>::infinity()};
  return q;
}

double batch_for_utilisation(const BatchCost& c, Rate arrivals, double utilisation) {
  const double room = utilisation - arrivals * c.each;
  const bool keeps_up = room > 0 && arrivals * (c.each + c.hidden) < utilisation;
  return keeps_up ? (arrivals * c.fixed) / room : std::numeric_limits<double>::infinity();
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::ranges::max_element(values);
}

double padding_waste(const std::vector<double>& lengths) {
  const double most = largest(lengths);
  return most > 0 ? 1 - mean(lengths) / most : 0;
}

double compute_bound_batch(Bytes weights, Bandwidth bandwidth, Ops per_token, OpRate peak_rate) {
  return (weights / bandwidth) / (per_token / peak_rate);
}

}  // namespace weir::plan
