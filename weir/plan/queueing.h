#pragma once

/// Waiting, in closed form. Little: L = lambda W (1961). M/D/1: W_q = rho s / (2 (1 - rho))
/// (Pollaczek and Khinchine). M/M/c: Erlang's C formula (1917). Service that varies otherwise than
/// exponentially scales the wait by (1 + cv^2) / 2 (Allen and Cunneen's approximation; exact for
/// one server). Waits are infinite at a utilisation of 1 or more. Checked by queue_simulation.h.
/// Thread safety: pure functions.

#include "weir/plan/units.h"

namespace weir::plan {

[[nodiscard]] double in_system(Rate arrivals, Seconds time_each);

/// Mean wait of a queue with Poisson arrivals, fixed service time and one server.
[[nodiscard]] Seconds md1_wait(Rate arrivals, Seconds service);

/// The probability that an arrival waits, with `servers` and `load` = lambda s Erlangs; 1 when load
/// >= servers. REQUIRES: servers is whole, 1 to kMostServers.
[[nodiscard]] double erlang_c(double servers, double load);
inline constexpr double kMostServers = 1e6;

/// Mean wait with `servers`; `cv` is the service time's coefficient of variation (1: exponential,
/// 0: fixed).
[[nodiscard]] Seconds mmc_wait(double servers, Rate arrivals, Seconds service, double cv = 1);

/// The wait that `quantile` of arrivals do not exceed.
[[nodiscard]] Seconds mmc_wait_quantile(double servers, Rate arrivals, Seconds service,
                                        double quantile, double cv = 1);

/// The fewest servers with that quantile of the wait <= target; 0 when more than kMostServers.
[[nodiscard]] double servers_for_wait(Rate arrivals, Seconds service, Seconds target,
                                      double quantile, double cv = 1);

}  // namespace weir::plan
