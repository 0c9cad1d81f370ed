#pragma once

/// The highest rate at which a server still meets an objective: doubled until it does not, then
/// halved in between, by ratio. The next rate to try follows from the rates tried so far alone.
/// Thread safety: pure functions.

#include <optional>
#include <span>

namespace weir::measure {

struct RatePoint {
  double rate = 0;        ///< Offered, requests a second.
  double attainment = 0;  ///< Of all that were offered, those that met the objective.
};

struct CapacitySpec {
  double target = 0.9;       ///< The attainment that is enough.
  double first_rate = 1;     ///< Tried first.
  double least_rate = 0.01;  ///< Below and above these nothing is tried.
  double most_rate = 10'000;
  double precision = 1.1;  ///< It is found when the rates around it differ by at most this factor.
};

/// The rate to try next; nothing when the capacity is known.
[[nodiscard]] std::optional<double> next_rate(std::span<const RatePoint> tried,
                                              const CapacitySpec& spec);

/// The highest rate that met the target with no lower one that missed it; 0 when none did.
[[nodiscard]] double capacity(std::span<const RatePoint> tried, double target);

}  // namespace weir::measure
