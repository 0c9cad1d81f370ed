#include "weir/plan/queueing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weir::plan {
namespace {

constexpr Seconds kForever{std::numeric_limits<double>::infinity()};

}  // namespace

double in_system(Rate arrivals, Seconds time_each) { return arrivals * time_each; }

Seconds md1_wait(Rate arrivals, Seconds service) {
  const double rho = arrivals * service;
  return rho < 1 ? service * (rho / (2 * (1 - rho))) : kForever;
}

double erlang_c(double servers, double load) {
  if (load >= servers) return 1;
  if (load <= 0) return 0;
  // 1 / B = sum over j of c (c - 1) ... (c - j + 1) / a^j (Erlang's B, divided through by its last
  // term). The terms grow while c - j > a and then fall: about c - a + sqrt(a) of them matter.
  double inverse = 1;
  double term = 1;
  for (double j = 0; j < servers; ++j) {
    term *= (servers - j) / load;
    inverse += term;
    constexpr double kNobodyWaits = 1e280;
    if (inverse > kNobodyWaits) return 0;
    if (term < inverse * 1e-17) break;
  }
  const double blocked = 1 / inverse;
  return blocked / (1 - load / servers * (1 - blocked));
}

Seconds mmc_wait(double servers, Rate arrivals, Seconds service, double cv) {
  const double load = arrivals * service;
  if (load >= servers) return kForever;
  return service * (erlang_c(servers, load) / (servers - load) * (1 + cv * cv) / 2);
}

Seconds mmc_wait_quantile(double servers, Rate arrivals, Seconds service, double quantile,
                          double cv) {
  const double load = arrivals * service;
  if (load >= servers) return kForever;
  // P(wait > t) = C exp(-(c - a) t / s).
  const double waits = erlang_c(servers, load);
  const double over = 1 - quantile;
  if (waits <= over) return {};
  return service * (std::log(waits / over) / (servers - load) * (1 + cv * cv) / 2);
}

double servers_for_wait(Rate arrivals, Seconds service, Seconds target, double quantile,
                        double cv) {
  double low = std::floor(arrivals * service);  // Never enough.
  if (!(low < kMostServers)) return 0;
  const auto enough = [&](double c) {
    return mmc_wait_quantile(c, arrivals, service, quantile, cv) <= target;
  };
  double step = 1;
  while (low + step < kMostServers && !enough(low + step)) {
    low += step;
    step *= 2;
  }
  double high = std::min(low + step, kMostServers);
  if (!enough(high)) return 0;
  while (high - low > 1) {
    const double middle = std::floor((low + high) / 2);
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace weir::plan
