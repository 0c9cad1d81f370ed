#include "weir/policy/adaptive_batch.h"

#include <algorithm>

namespace weir::policy {

BatchLimits adapt(const BatchLimits& now, Duration p99, Duration slo, const BatchBounds& bounds) {
  constexpr double kShrink = 0.8, kGrow = 1.1;
  double turn = 1;
  if (seconds(p99) > 0.9 * seconds(slo)) {
    turn = kShrink;
  } else if (seconds(p99) < 0.5 * seconds(slo)) {
    turn = kGrow;
  }
  constexpr Duration kLeastWindow = std::chrono::microseconds(100);
  return {std::clamp(now.most_items * turn, 1.0, std::max(1.0, bounds.most_items)),
          std::clamp(from_seconds(seconds(now.window) * turn), kLeastWindow,
                     std::max(kLeastWindow, bounds.most_window))};
}

Duration batch_window(double target, double rate, Duration most) {
  if (!(rate > 0) || !(target > 0) || target / rate >= seconds(most)) return most;
  return from_seconds(target / rate);
}

}  // namespace weir::policy
