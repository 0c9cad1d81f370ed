#include "weir/plan/queue_simulation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "weir/plan/queueing.h"

namespace weir::plan {
namespace {

constexpr Seconds kService{1};

/// The estimate's own confidence, and 3 % for what is left of the start.
void expect_agrees(const Estimate& measured, double theory) {
  EXPECT_NEAR(measured.mean, theory, 2 * measured.half_width + 0.03 * theory + 0.002);
}

struct OneServer {
  double rho;
};
void PrintTo(const OneServer& o, std::ostream* out) { *out << "rho " << o.rho; }

class QueueOfOne : public testing::TestWithParam<OneServer> {};

TEST_P(QueueOfOne, WithFixedServiceWaitsAsPollaczekAndKhinchineSay) {
  const double rho = GetParam().rho;
  const auto e = estimate(
      {.servers = 1, .utilisation = rho, .cv = 0, .warm_up = 20'000, .arrivals = 100'000}, 8);
  expect_agrees(e.mean_wait, md1_wait(per_second(rho), kService).value);
}

TEST_P(QueueOfOne, WithExponentialServiceWaitsAsErlangSays) {
  const double rho = GetParam().rho;
  const auto e = estimate(
      {.servers = 1, .utilisation = rho, .cv = 1, .warm_up = 20'000, .arrivals = 100'000}, 8);
  expect_agrees(e.mean_wait, mmc_wait(1, per_second(rho), kService).value);
  expect_agrees(e.waited, rho);  // An arrival sees what time sees.
}

INSTANTIATE_TEST_SUITE_P(, QueueOfOne,
                         testing::Values(OneServer{0.3}, OneServer{0.6}, OneServer{0.8}),
                         [](const auto& row) {
                           return "Rho" + std::to_string(static_cast<int>(row.param.rho * 100));
                         });

struct ManyServers {
  std::uint32_t servers;
  double rho;
};
void PrintTo(const ManyServers& m, std::ostream* out) {
  *out << m.servers << " servers, rho " << m.rho;
}

class QueueOfMany : public testing::TestWithParam<ManyServers> {};

TEST_P(QueueOfMany, WaitsAsErlangSays) {
  const auto [servers, rho] = GetParam();
  const Rate arrivals = per_second(rho * servers);
  const auto e = estimate(
      {.servers = servers, .utilisation = rho, .cv = 1, .warm_up = 20'000, .arrivals = 100'000}, 8);
  expect_agrees(e.waited, erlang_c(servers, rho * servers));
  expect_agrees(e.mean_wait, mmc_wait(servers, arrivals, kService).value);
}

TEST_P(QueueOfMany, WithLessVariedServiceStaysNearTheApproximation) {
  const auto [servers, rho] = GetParam();
  const auto e = estimate(
      {.servers = servers, .utilisation = rho, .cv = 0.5, .warm_up = 20'000, .arrivals = 100'000},
      4);
  const double approximate = mmc_wait(servers, per_second(rho * servers), kService, 0.5).value;
  EXPECT_NEAR(e.mean_wait.mean, approximate, 0.15 * approximate + 2 * e.mean_wait.half_width);
}

INSTANTIATE_TEST_SUITE_P(
    , QueueOfMany, testing::Values(ManyServers{2, 0.7}, ManyServers{10, 0.8}, ManyServers{32, 0.9}),
    [](const auto& row) { return "Servers" + std::to_string(row.param.servers); });

TEST(Queueing, TheQuantileIsWhereTheSimulatedTailIs) {
  // 8 servers at 0.8, exponential: P99 of the wait. The time's P99 is near it plus the service's
  // mean.
  const Rate arrivals = per_second(6.4);
  const double predicted = mmc_wait_quantile(8, arrivals, kService, 0.99).value;
  EXPECT_NEAR(predicted, std::log(erlang_c(8, 6.4) / 0.01) / 1.6, 1e-9);
  // The fewest servers for that wait are these eight.
  EXPECT_EQ(servers_for_wait(arrivals, kService, Seconds{predicted * 1.001}, 0.99), 8);
  // For half of it one more is not enough, and two more are.
  const Seconds half{predicted * 0.5};
  EXPECT_GT(mmc_wait_quantile(9, arrivals, kService, 0.99), half);
  EXPECT_LE(mmc_wait_quantile(10, arrivals, kService, 0.99), half);
  EXPECT_EQ(servers_for_wait(arrivals, kService, half, 0.99), 10);
}

TEST(Queueing, ErlangCIsExactWhereItIsKnown) {
  EXPECT_NEAR(erlang_c(1, 0.4), 0.4, 1e-12);      // One server: rho.
  EXPECT_NEAR(erlang_c(2, 1.0), 1.0 / 3, 1e-12);  // a^2 / (2 (1 - a/2)) over the sum, a = 1.
  EXPECT_EQ(erlang_c(3, 3), 1);
  EXPECT_EQ(erlang_c(3, 0), 0);
  EXPECT_GT(erlang_c(1e6, 999'900), 0.5);  // A million servers neither overflow nor lose the tail.
  EXPECT_LT(erlang_c(1e6, 990'000), 1e-6);
}

TEST(Queueing, OverloadWaitsForEver) {
  EXPECT_TRUE(std::isinf(md1_wait(per_second(1), kService).value));
  EXPECT_TRUE(std::isinf(mmc_wait(3, per_second(3), kService).value));
  EXPECT_EQ(servers_for_wait(per_second(1e12), kService, Seconds{1}, 0.99), 0);
}

// ---- The balancing theorem
// ------------------------------------------------------------------------------

double mean_fullest(std::uint32_t bins, int choices) {
  double sum = 0;
  const int runs = 40;
  for (int i = 0; i < runs; ++i)
    sum += fullest_bin(bins, choices, 100 + static_cast<std::uint64_t>(i));
  return sum / runs;
}

TEST(Balancing, TheFullestBinGrowsMuchSlowerWithTwoChoices) {
  const double random10 = mean_fullest(10, 1), random100 = mean_fullest(100, 1),
               random1000 = mean_fullest(1000, 1);
  const double two10 = mean_fullest(10, 2), two100 = mean_fullest(100, 2),
               two1000 = mean_fullest(1000, 2);
  // Random: Theta(log R / log log R), "4 to 5" and a little more; two choices: log log R / log 2 +
  // O(1), "2" and 3.
  EXPECT_GT(random1000, 4.5);
  EXPECT_LT(random1000, 6.5);
  EXPECT_GE(two1000, 2);
  EXPECT_LE(two1000, 3.1);
  EXPECT_GT(random1000 - random10, 2);
  EXPECT_LT(two1000 - two10, 1.3);
  EXPECT_GT(random100, two100);
  // Between 100 and 1000 bins theory adds log log 1000 / log 2 - log log 100 / log 2 = 0.58 to two
  // choices.
  EXPECT_LT(two1000 - two100, 0.9);
}

struct Longest {
  Estimate random, two;
};

/// The longest queue of a fleet at 70 % load, averaged over arrivals. An M/M/1 queue forgets its
/// start in 1 / (1 - sqrt(rho))^2 = 37 service times; the warm-up is four of those.
Longest longest_of(std::uint32_t replicas) {
  QueueSettings s{
      .balancing = Balancing::kRandom, .servers = replicas, .utilisation = 0.7, .cv = 1};
  s.warm_up = 110ULL * replicas + 2000;
  s.arrivals = std::max<std::uint64_t>(60'000, 40ULL * replicas);
  Longest longest;
  longest.random = estimate(s, 4).mean_longest;
  s.balancing = Balancing::kTwoChoices;
  longest.two = estimate(s, 4).mean_longest;
  return longest;
}

TEST(Balancing, TheLongestQueueGrowsMuchSlowerWithTwoChoices) {
  const std::array<std::uint32_t, 3> fleets = {10, 100, 1000};
  std::array<Longest, 3> longest;
  for (std::size_t i = 0; i < fleets.size(); ++i) {
    const double replicas = fleets[i];
    longest[i] = longest_of(fleets[i]);
    const auto& [random, two] = longest[i];
    RecordProperty("R" + std::to_string(fleets[i]),
                   fmt::format("random {:.2f} +- {:.2f}, two choices {:.2f} +- {:.2f}", random.mean,
                               random.half_width, two.mean, two.half_width));
    // Random: independent M/M/1 queues, P(N >= k) = rho^k, so the mean of the largest of R is
    // H_R / -ln rho - 1/2 and a little (the maximum of R geometric variables).
    double harmonic = 0;
    for (double k = 1; k <= replicas; ++k) harmonic += 1 / k;
    EXPECT_NEAR(random.mean, harmonic / -std::log(0.7) - 0.5, 0.8 + 2 * random.half_width);
    // Two choices: a share rho^(2^k - 1) holds at least k (Mitzenmacher's fixed point), so the mean
    // of the largest is the sum over k of the chance that any of R does.
    double expected = 0;
    for (int k = 1; k < 12; ++k)
      expected += 1 - std::pow(1 - std::pow(0.7, std::exp2(k) - 1), replicas);
    EXPECT_NEAR(two.mean, expected, 0.5 + 2 * two.half_width);
  }
  EXPECT_GT(longest[2].random.mean - longest[0].random.mean, 9);
  EXPECT_LT(longest[2].two.mean - longest[0].two.mean, 2);
}

// ---- Section 23: four policies over 100 servers, gamma service with CV 0.5
// -----------------------------------

struct Row {
  double rho;
  Balancing balancing;
  const char* name;
  double mean, p50, p99, longest;
};
void PrintTo(const Row& r, std::ostream* out) { *out << r.name << " at " << r.rho; }

class Chapter23 : public testing::TestWithParam<Row> {};

TEST_P(Chapter23, IsReproduced) {
  const Row& r = GetParam();
  QueueSettings s{.balancing = r.balancing, .servers = 100, .utilisation = r.rho, .cv = 0.5};
  s.warm_up = 40'000;
  s.arrivals = 80'000;
  const auto e = estimate(s, 3);
  const auto near = [](const Estimate& got, double wanted, double relative) {
    EXPECT_NEAR(got.mean, wanted, relative * wanted + 2 * got.half_width);
  };
  near(e.mean_time, r.mean, 0.04);
  near(e.p50, r.p50, 0.04);
  near(e.p99, r.p99, 0.08);
  near(e.mean_longest, r.longest, 0.12);
}

constexpr auto kRandom = Balancing::kRandom, kRound = Balancing::kRoundRobin,
               kTwo = Balancing::kTwoChoices, kLeast = Balancing::kLeast;
INSTANTIATE_TEST_SUITE_P(, Chapter23,
                         testing::Values(Row{.5, kRandom, "Random", 1.63, 1.33, 5.62, 4.9},
                                         Row{.5, kRound, "RoundRobin", 1.02, .94, 2.58, 1.7},
                                         Row{.5, kTwo, "TwoChoices", 1.17, 1.05, 3.17, 2.1},
                                         Row{.5, kLeast, "Least", 1.00, .92, 2.51, 1.0},
                                         Row{.7, kRandom, "Random", 2.46, 1.88, 9.41, 9.7},
                                         Row{.7, kRound, "RoundRobin", 1.14, 1.03, 3.10, 2.5},
                                         Row{.7, kTwo, "TwoChoices", 1.39, 1.25, 3.74, 2.9},
                                         Row{.7, kLeast, "Least", 1.00, .92, 2.51, 1.0},
                                         Row{.8, kRandom, "Random", 3.54, 2.60, 14.96, 16.3},
                                         Row{.8, kRound, "RoundRobin", 1.34, 1.17, 3.97, 3.6},
                                         Row{.8, kTwo, "TwoChoices", 1.60, 1.44, 4.18, 3.3},
                                         Row{.8, kLeast, "Least", 1.00, .92, 2.52, 1.1},
                                         Row{.9, kRandom, "Random", 6.74, 4.70, 30.2, 34.1},
                                         Row{.9, kRound, "RoundRobin", 1.94, 1.59, 6.50, 6.4},
                                         Row{.9, kTwo, "TwoChoices", 2.00, 1.85, 4.93, 3.9},
                                         Row{.9, kLeast, "Least", 1.04, .94, 2.69, 1.6}),
                         [](const auto& row) {
                           return row.param.name +
                                  std::to_string(static_cast<int>(row.param.rho * 10));
                         });

TEST(Simulation, IsAFunctionOfItsSeed) {
  QueueSettings s{.balancing = Balancing::kTwoChoices,
                  .servers = 20,
                  .utilisation = 0.8,
                  .cv = 0.5,
                  .warm_up = 100,
                  .arrivals = 2000,
                  .seed = 7};
  const double first = simulate(s).mean_time;
  EXPECT_EQ(simulate(s).mean_time, first);
  s.seed = 8;
  EXPECT_NE(simulate(s).mean_time, first);
}

}  // namespace
}  // namespace weir::plan
