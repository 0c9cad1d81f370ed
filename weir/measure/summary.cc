#include "weir/measure/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weir/base/check.h"

namespace weir::measure {

double quantile(std::span<const double> sorted, double q) {
  WEIR_CHECK(!sorted.empty() && q >= 0 && q <= 1, "a quantile needs a sample and 0 <= q <= 1");
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

Summary summarize(std::vector<double> values) {
  Summary s;
  s.count = values.size();
  if (values.empty()) return s;
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  s.mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double v : values) squares += (v - s.mean) * (v - s.mean);
  s.deviation = std::sqrt(squares / n);
  s.least = values.front();
  s.most = values.back();
  s.p50 = quantile(values, 0.5);
  s.p90 = quantile(values, 0.9);
  s.p95 = quantile(values, 0.95);
  s.p99 = quantile(values, 0.99);
  s.p999 = quantile(values, 0.999);
  return s;
}

}  // namespace weir::measure
