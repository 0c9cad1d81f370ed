#pragma once

/// Time in the pure core: durations since an origin that only the driver knows. The engine's origin
/// is its steady clock's; the simulator's is the start of the trace.

#include <chrono>

namespace weir {

using Duration = std::chrono::nanoseconds;
using Instant = std::chrono::nanoseconds;

[[nodiscard]] constexpr double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}
[[nodiscard]] constexpr double milliseconds(Duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}
[[nodiscard]] constexpr Duration from_seconds(double s) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
}

}  // namespace weir
