#include "weir/policy/max_min.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "weir/base/check.h"

namespace weir::policy {

std::vector<double> max_min_shares(double capacity, std::span<const Demand> demands) {
  WEIR_CHECK(std::isfinite(capacity) && capacity >= 0, "a capacity is finite and not negative");
  double weight = 0;
  for (const Demand& d : demands) {
    WEIR_CHECK(std::isfinite(d.wanted) && d.wanted >= 0 && std::isfinite(d.weight) && d.weight > 0,
               "a demand is finite and not negative, its weight positive");
    weight += d.weight;
  }
  // Whoever is satisfied at the lowest water level comes first.
  std::vector<std::size_t> order(demands.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::pair(demands[i].wanted / demands[i].weight, i);
  });

  std::vector<double> shares(demands.size());
  double left = capacity;
  for (std::size_t i : order) {
    const Demand& d = demands[i];
    shares[i] = std::min(d.wanted, std::max(0.0, left) * std::min(1.0, d.weight / weight));
    left -= shares[i];
    weight -= d.weight;
  }
  return shares;
}

}  // namespace weir::policy
