#pragma once

/// A sample in a few numbers. Quantiles interpolate linearly between order statistics (type 7 of
/// Hyndman and Fan 1996, numpy's default, so that figures compare with other tools'); the deviation
/// divides by n, as numpy's does. Thread safety: pure functions.

#include <cstddef>
#include <span>
#include <vector>

namespace weir::measure {

struct Summary {
  std::size_t count = 0;  ///< All other fields are 0 when it is.
  double mean = 0;
  double deviation = 0;
  double least = 0;
  double most = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double p999 = 0;
};

/// REQUIRES: `sorted` ascends and is not empty, 0 <= q <= 1.
[[nodiscard]] double quantile(std::span<const double> sorted, double q);

[[nodiscard]] Summary summarize(std::vector<double> values);

}  // namespace weir::measure
