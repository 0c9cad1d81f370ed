#include "weir/policy/warm_pool.h"

#include <algorithm>
#include <cmath>

#include "weir/base/check.h"

namespace weir::policy {

std::uint32_t warm_replicas(const WarmPool& pool) {
  WEIR_CHECK(std::isfinite(pool.burst_rate) && pool.burst_rate >= 0,
             "a burst is finite and not negative");
  WEIR_CHECK(std::isfinite(pool.rate_per_replica) && pool.rate_per_replica > 0,
             "a replica serves something");
  WEIR_CHECK(std::isfinite(pool.safety) && pool.safety >= 1, "safety adds, never takes away");
  // 2 x 1.5 is 3 replicas, not 4 because of a last bit.
  const double wanted = pool.burst_rate / pool.rate_per_replica * pool.safety * (1 - 1e-12);
  return static_cast<std::uint32_t>(std::min<double>(kMostReplicas, std::ceil(wanted)));
}

}  // namespace weir::policy
