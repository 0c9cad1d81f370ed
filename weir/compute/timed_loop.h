#pragma once

/// Repeating a piece of a team's work and saying how fast it went. The clock is the caller's.
/// Thread safety: as ThreadPool; one thread, the pool's owner.

#include <chrono>
#include <cstdint>
#include <functional>

#include "weir/compute/thread_pool.h"
#include "weir/sys/clock.h"

namespace weir::compute {

struct TimedLoop {
  double amount = 0;  ///< What one repetition does, in whatever its rate is wanted of.
  /// Called by every worker, as often by each; must not throw.
  std::function<void(const ThreadPool::Team&)> once;
  std::uint64_t repeats = 1;  ///< In one sample.
};

/// Sets `repeats` so that a sample takes about `sample`, at least one repetition. Warms up.
void calibrate(ThreadPool& pool, const sys::Clock& clock, TimedLoop& loop,
               std::chrono::nanoseconds sample);

struct Sample {
  double rate = 0;  ///< Amount a second.
  /// All workers began together and none lost its core: the rate is the machine's, not its other
  /// users'.
  bool clean = false;
};

/// From the first worker's begin to the last one's end, after a barrier, so that waking them (45 us
/// in a virtual machine) is no part of it.
[[nodiscard]] Sample sample_once(ThreadPool& pool, const sys::Clock& clock, const TimedLoop& loop);

/// The same up to `tries` times until it is clean, the second half as long and the others a
/// quarter, since a core that is shared is had for a while at a time; the last one when none was.
[[nodiscard]] Sample sample_of(ThreadPool& pool, const sys::Clock& clock, const TimedLoop& loop,
                               std::uint32_t tries);

}  // namespace weir::compute
