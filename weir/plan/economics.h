#pragma once

/// Money over a model's life: C = C_train + C_serve T Q. Training is paid once, serving for every
/// request, so the crossover time is C_train / (C_serve Q). Thread safety: pure functions.

#include <cmath>

#include "weir/plan/units.h"

namespace weir::plan {

[[nodiscard]] inline Dollars lifetime_cost(Dollars train, Dollars per_request, Rate requests,
                                           Seconds life) {
  return train + per_request * (requests * life);
}
/// When serving has cost as much as training.
[[nodiscard]] inline Seconds crossover(Dollars train, Dollars per_request, Rate requests) {
  return train / (per_request * requests);
}
/// Devices at `hourly` that make `tokens` a second together.
[[nodiscard]] inline Dollars cost_per_million(Price hourly, double devices, Rate tokens) {
  return hourly * devices / tokens * 1e6;
}
/// The chapter's empirical curves of the cost of 1000 tokens at a daily volume: base (10^6 /
/// volume)^exponent.
[[nodiscard]] inline Dollars cost_curve(double base, double exponent, double tokens_per_day) {
  return dollars(base * std::pow(1e6 / tokens_per_day, exponent));
}

}  // namespace weir::plan
