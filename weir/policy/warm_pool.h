#pragma once

/// How many replicas stand ready beside those that serve: enough to take the largest burst until
/// new ones have started. Hot ones answer at once and cost all of a replica, warm ones hold the
/// weights in host memory (about 30 s, 60 % of the cost), cold ones start from nothing. Thread
/// safety: pure functions.

#include <cstdint>

namespace weir::policy {

struct WarmPool {
  double burst_rate = 0;        ///< Requests a second above what serves now.
  double rate_per_replica = 0;  ///< Measured.
  double safety = 1.5;
};

/// ceil(burst / rate per replica * safety); 0 without a burst. REQUIRES: rates finite and not
/// negative, rate_per_replica > 0, safety >= 1. At most kMostReplicas.
[[nodiscard]] std::uint32_t warm_replicas(const WarmPool& pool);
inline constexpr std::uint32_t kMostReplicas = 1'000'000;

}  // namespace weir::policy
