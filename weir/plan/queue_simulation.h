#pragma once

/// A small event simulator of servers and queues, to check the closed forms of queueing.h and to
/// measure what balancing policies do where no formula exists. Poisson arrivals, FIFO queues, time
/// in units of the mean service time. Everything random is drawn from the seed by position, so a
/// run is a pure function of its settings. Two choices are made by policy/two_choices.h itself.
/// Thread safety: pure functions.

#include <cstdint>

namespace weir::plan {

enum class Balancing : unsigned char {
  kShared,  ///< One queue for all servers: M/G/c.
  kRandom,
  kRoundRobin,
  kTwoChoices,
  kLeast,  ///< The shortest of all queues, which needs to know them all.
};

struct QueueSettings {
  Balancing balancing = Balancing::kShared;
  std::uint32_t servers = 1;
  double utilisation = 0.5;
  double cv =
      1;  ///< Of the service time: 0 fixed, else 1 / sqrt(k) as k exponential stages make it.
  std::uint64_t warm_up = 20'000;
  std::uint64_t arrivals = 100'000;  ///< Counted, after the warm-up.
  std::uint64_t seed = 1;
};

struct QueueRun {
  double mean_wait = 0, mean_time = 0, p50 = 0, p99 = 0;
  double mean_longest =
      0;  ///< What the fullest server holds (in queue and in service), averaged over arrivals.
  double longest = 0;  ///< The most any server ever held.
  double waited = 0;   ///< Share of arrivals that found no free server.
};

/// REQUIRES: 1 <= servers <= 100'000, 0 < utilisation < 1, 0 <= cv <= 1, arrivals > 0.
[[nodiscard]] QueueRun simulate(const QueueSettings& settings);

/// A mean over independent runs with its 95 % confidence half-width (Student's t).
struct Estimate {
  double mean = 0;
  double half_width = 0;
};
struct QueueEstimate {
  Estimate mean_wait, mean_time, p50, p99, mean_longest, waited;
};
/// `runs` runs with seeds settings.seed, settings.seed + 1, ... REQUIRES: 2 <= runs <= 30.
[[nodiscard]] QueueEstimate estimate(const QueueSettings& settings, int runs);

/// The fullest of `bins` after as many balls, each into the emptier of `choices` random bins (1 or
/// 2): Theta(log R / log log R) against log log R / log 2 + O(1) (Azar et al. 1999).
[[nodiscard]] std::uint32_t fullest_bin(std::uint32_t bins, int choices, std::uint64_t seed);

}  // namespace weir::plan
