#pragma once

/// When requests come in an open loop: independent of any answer. Gaps are gamma-distributed with
/// shape `burstiness` (1: Poisson, below: bursts, above: more even) or constant; a process of rate
/// 1 is mapped through the inverse of the integrated rate, which makes ramps exact, and is scaled
/// so that the mean rate of every run is the one asked for. Thread safety: pure functions.

#include <cstdint>
#include <vector>

#include "weir/base/result.h"
#include "weir/spec/time.h"

namespace weir::measure {

struct ArrivalSpec {
  double rate = 1;        ///< Requests a second, at the start.
  double end_rate = 0;    ///< At the end of a linear ramp; 0: `rate` all along.
  double burstiness = 1;  ///< Shape of the gamma distribution; 0: constant gaps.
  std::uint64_t seed = 0;
};

/// kInvalidArgument unless rates are in [0.001, 1e6] and burstiness is 0 or in [0.01, 1e4].
[[nodiscard]] Status validate(const ArrivalSpec& spec);

/// Ascending, the first after one gap. REQUIRES: the spec is valid.
[[nodiscard]] std::vector<Duration> arrival_times(const ArrivalSpec& spec, std::uint32_t count);

/// How many requests the spec brings within `length`. REQUIRES: the spec is valid.
[[nodiscard]] double expected_count(const ArrivalSpec& spec, Duration length);

}  // namespace weir::measure
