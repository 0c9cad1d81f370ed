#include "weir/measure/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "weir/measure/summary.h"

namespace weir::measure {
namespace {

std::vector<double> gaps(const std::vector<Duration>& times) {
  std::vector<double> out;
  for (std::size_t i = 1; i < times.size(); ++i) out.push_back(seconds(times[i] - times[i - 1]));
  return out;
}

double variation(const std::vector<Duration>& times) {
  const Summary s = summarize(gaps(times));
  return s.deviation / s.mean;
}

TEST(Arrivals, ConstantGapsAreTheInverseOfTheRate) {
  const auto times = arrival_times({.rate = 4, .burstiness = 0}, 8);
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_NEAR(seconds(times[i]), static_cast<double>(i + 1) / 4, 1e-8);
  }
}

TEST(Arrivals, TheMeanRateIsTheOneAskedForWhateverTheSeed) {
  for (const std::uint64_t seed : {0U, 1U, 99U}) {
    for (const double burstiness : {0.0, 0.2, 1.0, 5.0}) {
      const auto times = arrival_times({.rate = 12.5, .burstiness = burstiness, .seed = seed}, 200);
      EXPECT_NEAR(seconds(times.back()), 200 / 12.5, 1e-6);
      EXPECT_TRUE(std::ranges::is_sorted(times));
    }
  }
}

TEST(Arrivals, VariationIsOneOverTheRootOfBurstiness) {
  for (const double burstiness : {0.25, 0.5, 1.0, 4.0, 16.0}) {
    const auto times = arrival_times({.rate = 10, .burstiness = burstiness, .seed = 7}, 20'000);
    EXPECT_NEAR(variation(times) * std::sqrt(burstiness), 1, 0.05) << "burstiness " << burstiness;
  }
}

TEST(Arrivals, ARampBringsItsShareInEachHalf) {
  // From 1/s to 3/s: the mean rate is 2/s, the first half of the time has 1.5/s of it.
  const auto times = arrival_times({.rate = 1, .end_rate = 3, .burstiness = 0}, 4000);
  EXPECT_NEAR(seconds(times.back()), 2000, 1e-3);
  const auto early = std::ranges::count_if(times, [](Duration t) { return seconds(t) <= 1000; });
  EXPECT_NEAR(static_cast<double>(early), 1500, 2);
}

TEST(Arrivals, ARampDownSlowsDown) {
  const auto times = arrival_times({.rate = 8, .end_rate = 2, .burstiness = 0}, 500);
  const auto g = gaps(times);
  EXPECT_TRUE(std::ranges::is_sorted(g));
}

TEST(Arrivals, WhatCannotBeDrawnIsRefused) {
  EXPECT_FALSE(validate({.rate = 0}));
  EXPECT_FALSE(validate({.rate = -1}));
  EXPECT_FALSE(validate({.rate = 1e-6}));
  EXPECT_FALSE(validate({.rate = std::nan("")}));
  EXPECT_FALSE(validate({.rate = 1, .end_rate = 1e9}));
  EXPECT_FALSE(validate({.rate = 1, .burstiness = -1}));
  EXPECT_FALSE(validate({.rate = 1, .burstiness = 1e-6}));
  EXPECT_TRUE(validate({.rate = 1, .burstiness = 0}));
}

}  // namespace
}  // namespace weir::measure
