#pragma once

/// How long dynamic batching waits and how much it gathers, steered by the tail of latency: a P99
/// above 0.9 of the SLO shrinks both by a fifth, one below half of it lets both grow by a tenth,
/// and the window never waits longer than the arrivals need to fill the batch (T = min(T_max, B /
/// rate)). Shrinking is faster than growing, so an overshoot is short. Thread safety: pure
/// functions.

#include <cstdint>

#include "weir/spec/time.h"

namespace weir::policy {

struct BatchLimits {
  double most_items = 32;
  Duration window = std::chrono::milliseconds(10);
};

struct BatchBounds {
  double most_items = 256;
  Duration most_window = std::chrono::milliseconds(100);
};

/// One turn of the loop. Items stay within 1 and the bound, the window within 0.1 ms and its bound.
[[nodiscard]] BatchLimits adapt(const BatchLimits& now, Duration p99, Duration slo,
                                const BatchBounds& bounds);

/// min(most, target / rate): how long to wait for `target` items that arrive at `rate` a second.
[[nodiscard]] Duration batch_window(double target, double rate, Duration most);

}  // namespace weir::policy
