#include "weir/plan/queue_simulation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <queue>
#include <vector>

#include "weir/base/check.h"
#include "weir/base/random.h"
#include "weir/policy/two_choices.h"

namespace weir::plan {
namespace {

// One stream of randomness for each purpose, so that policies face the same arrivals and services.
enum Stream : std::uint64_t { kArrival, kFirstStage, kTies = 1000 };

double exponential(std::uint64_t seed, std::uint64_t at, std::uint64_t stream) {
  return -std::log1p(-uniform(seed, at, stream));
}

/// Mean 1; k stages of mean 1/k have cv = 1 / sqrt(k).
double service_time(const QueueSettings& s, std::uint64_t arrival) {
  if (s.cv == 0) return 1;
  const auto stages =
      static_cast<std::uint64_t>(std::clamp(std::round(1 / (s.cv * s.cv)), 1.0, 500.0));
  double sum = 0;
  for (std::uint64_t i = 0; i < stages; ++i) sum += exponential(s.seed, arrival, kFirstStage + i);
  return sum / static_cast<double>(stages);
}

/// The servers: who holds how many, and when each is free.
class Servers {
 public:
  explicit Servers(std::uint32_t n) : loads_(n), free_at_(n), holding_(2) { holding_[0] = n; }

  /// Lets go of what has ended by `now`.
  void advance(double now) {
    while (!ends_.empty() && ends_.top().first <= now) {
      change(ends_.top().second, -1);
      ends_.pop();
    }
  }

  /// Puts one on `server`; returns when it ends.
  double add(std::size_t server, double now, double service) {
    free_at_[server] = std::max(free_at_[server], now) + service;
    ends_.emplace(free_at_[server], server);
    change(server, 1);
    return free_at_[server];
  }

  [[nodiscard]] const std::vector<policy::ReplicaLoad>& loads() const { return loads_; }
  [[nodiscard]] std::size_t size() const { return loads_.size(); }
  [[nodiscard]] double held(std::size_t server) const { return loads_[server].work; }
  [[nodiscard]] std::size_t fullest() const { return fullest_; }

  /// The least loaded, the first of them from a random place on.
  [[nodiscard]] std::size_t least(double draw) const {
    const auto begin = static_cast<std::size_t>(draw * static_cast<double>(size()));
    std::size_t best = begin;
    for (std::size_t i = 0; i < size(); ++i) {
      const std::size_t at = begin + i < size() ? begin + i : begin + i - size();
      if (held(at) < held(best)) best = at;
      if (held(best) == 0) break;
    }
    return best;
  }

  /// Where a shared queue sends its next: the server that is free first.
  [[nodiscard]] std::size_t first_free() const {
    return static_cast<std::size_t>(std::ranges::min_element(free_at_) - free_at_.begin());
  }

 private:
  void change(std::size_t server, int by) {
    const auto before = static_cast<std::size_t>(held(server));
    loads_[server].work += by;
    const auto after = static_cast<std::size_t>(held(server));
    if (after >= holding_.size()) holding_.resize(after + 1);
    --holding_[before];
    ++holding_[after];
    fullest_ = std::max(fullest_, after);
    while (fullest_ > 0 && holding_[fullest_] == 0) --fullest_;
  }

  using End = std::pair<double, std::size_t>;
  std::vector<policy::ReplicaLoad> loads_;  ///< work counts what a server holds.
  std::vector<double> free_at_;
  std::vector<std::uint64_t> holding_;  ///< [k] servers that hold k.
  std::size_t fullest_ = 0;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

std::size_t choose(const QueueSettings& s, const Servers& servers, std::uint64_t arrival) {
  switch (s.balancing) {
    case Balancing::kShared:
      return servers.first_free();
    case Balancing::kRandom:
      return policy::one_choice(servers.loads(), s.seed ^ kTies, arrival);
    case Balancing::kRoundRobin:
      return static_cast<std::size_t>(arrival % servers.size());
    case Balancing::kTwoChoices:
      return policy::two_choices(servers.loads(), s.seed ^ kTies, arrival);
    case Balancing::kLeast:
      return servers.least(uniform(s.seed ^ kTies, arrival));
  }
  return 0;
}

double quantile(std::vector<double>& values, double q) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

Estimate estimate_of(const std::vector<QueueRun>& runs, double QueueRun::* field) {
  // Student's t at 97.5 % for 1 to 29 degrees of freedom.
  constexpr std::array<double, 29> kT = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                         2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                         2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                         2.060, 2.056, 2.052, 2.048, 2.045};
  const auto n = static_cast<double>(runs.size());
  double sum = 0;
  for (const QueueRun& r : runs) sum += r.*field;
  const double average = sum / n;
  double squares = 0;
  for (const QueueRun& r : runs) squares += (r.*field - average) * (r.*field - average);
  return {average, kT[runs.size() - 2] * std::sqrt(squares / (n - 1) / n)};
}

}  // namespace

QueueRun simulate(const QueueSettings& s) {
  WEIR_CHECK(s.servers >= 1 && s.servers <= 100'000, "a simulation has servers, and not too many");
  WEIR_CHECK(s.utilisation > 0 && s.utilisation < 1 && s.cv >= 0 && s.cv <= 1,
             "a queue that ends, of varied services");
  WEIR_CHECK(s.arrivals > 0, "something arrives");
  Servers servers(s.servers);
  const double rate = s.utilisation * s.servers;
  std::vector<double> times;
  times.reserve(s.arrivals);
  double now = 0, waits = 0, longest_sum = 0, waited = 0;
  QueueRun run;
  for (std::uint64_t i = 0; i < s.warm_up + s.arrivals; ++i) {
    now += exponential(s.seed, i, kArrival) / rate;
    servers.advance(now);
    const std::size_t server = choose(s, servers, i);
    const double service = service_time(s, i);
    const double end = servers.add(server, now, service);
    if (i < s.warm_up) continue;
    const double wait = std::max(0.0, end - service - now);
    waits += wait;
    waited += wait > 1e-12;
    times.push_back(end - now);
    longest_sum += static_cast<double>(servers.fullest());
    run.longest = std::max(run.longest, static_cast<double>(servers.fullest()));
  }
  const auto n = static_cast<double>(s.arrivals);
  run.mean_wait = waits / n;
  for (double t : times) run.mean_time += t / n;
  run.p50 = quantile(times, 0.5);
  run.p99 = quantile(times, 0.99);
  run.mean_longest = longest_sum / n;
  run.waited = waited / n;
  return run;
}

QueueEstimate estimate(const QueueSettings& settings, int runs) {
  WEIR_CHECK(runs >= 2 && runs <= 30, "an estimate is of 2 to 30 runs");
  std::vector<QueueRun> all;
  for (int i = 0; i < runs; ++i) {
    QueueSettings one = settings;
    one.seed += static_cast<std::uint64_t>(i);
    all.push_back(simulate(one));
  }
  return {estimate_of(all, &QueueRun::mean_wait),    estimate_of(all, &QueueRun::mean_time),
          estimate_of(all, &QueueRun::p50),          estimate_of(all, &QueueRun::p99),
          estimate_of(all, &QueueRun::mean_longest), estimate_of(all, &QueueRun::waited)};
}

std::uint32_t fullest_bin(std::uint32_t bins, int choices, std::uint64_t seed) {
  std::vector<policy::ReplicaLoad> loads(bins);
  double most = 0;
  for (std::uint64_t ball = 0; ball < bins; ++ball) {
    const std::size_t bin = choices == 1 ? policy::one_choice(loads, seed, ball)
                                         : policy::two_choices(loads, seed, ball);
    most = std::max(most, ++loads[bin].work);
  }
  return static_cast<std::uint32_t>(most);
}

}  // namespace weir::plan
