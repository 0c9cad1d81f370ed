#pragma once

/// The power of two choices: look at two random replicas and take the less loaded (Mitzenmacher
/// 2001). It needs no global state, and the longest of R queues grows as log log R instead of log R
/// / log log R. The signal is work, not connections (tokens in flight, predicted seconds), over
/// what the replica can do; equal loads go to whoever already holds the prefix or adapter. Thread
/// safety: pure functions.

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::policy {

struct ReplicaLoad {
  double work = 0;      ///< Outstanding, in any unit that all replicas share.
  double capacity = 1;  ///< Relative speed; > 0.
  double affinity = 0;  ///< Tokens of this request that are cached there; larger wins a tie.
};

/// Whether `a` is to be preferred to `b`: less work for its capacity, then more affinity.
[[nodiscard]] bool prefer(const ReplicaLoad& a, const ReplicaLoad& b);

/// Two different replicas drawn by (seed, draw), the better of them. REQUIRES: there is one.
[[nodiscard]] std::size_t two_choices(std::span<const ReplicaLoad> replicas, std::uint64_t seed,
                                      std::uint64_t draw);

/// One replica drawn with a probability that goes with its capacity: weighted random, the
/// reference.
[[nodiscard]] std::size_t one_choice(std::span<const ReplicaLoad> replicas, std::uint64_t seed,
                                     std::uint64_t draw);

/// What each replica gets of `rate` when it is dealt out by capacity, as a fraction: w_i / sum w.
[[nodiscard]] double capacity_weight(double capacity, double total_capacity);

}  // namespace weir::policy
