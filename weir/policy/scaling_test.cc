#include <gtest/gtest.h>

#include "weir/policy/adaptive_batch.h"
#include "weir/policy/hysteresis.h"
#include "weir/policy/warm_pool.h"

namespace weir::policy {
namespace {

using namespace std::chrono_literals;

TEST(WarmPool, HoldsTheLargestBurstTimesSafety) {
  EXPECT_EQ(warm_replicas({.burst_rate = 2000, .rate_per_replica = 1000, .safety = 1.5}), 3U);
  EXPECT_EQ(warm_replicas({.burst_rate = 0, .rate_per_replica = 1}), 0U);
  EXPECT_EQ(warm_replicas({.burst_rate = 1, .rate_per_replica = 1000, .safety = 1}), 1U);
  EXPECT_EQ(warm_replicas({.burst_rate = 1e300, .rate_per_replica = 1}), kMostReplicas);
}

TEST(Hysteresis, GoesUpAtOnceWithReserve) {
  Hysteresis h({.reserve = 1});
  const auto d = h.decide(10, 30, 0s);
  EXPECT_EQ(d.replicas, 31U);
  EXPECT_EQ(d.reason, ScaleReason::kUp);
}

TEST(Hysteresis, ADipInsideTheWindowRemovesNothing) {
  Hysteresis h({.reserve = 0, .low_window = 300s});
  for (auto t = 0s; t < 3600s; t += 10s) {
    const bool dip = t % 200s < 100s;
    EXPECT_EQ(h.decide(30, dip ? 5 : 30, t).replicas, 30U);
  }
}

TEST(Hysteresis, GoesDownAfterTheWholeWindowAStepAtATimeAndNeverBelowTheReserve) {
  Hysteresis h({.reserve = 1, .low_window = 300s, .most_down = 0.25});
  std::uint32_t current = 20;
  EXPECT_EQ(h.decide(current, 3, 0s).reason, ScaleReason::kWaiting);
  EXPECT_EQ(h.decide(current, 3, 299s).replicas, 20U);
  std::vector<std::uint32_t> seen;
  for (auto t = 300s; t < 400s; t += 10s) {
    current = h.decide(current, 3, t).replicas;
    seen.push_back(current);
  }
  EXPECT_EQ(seen[0], 15U);
  EXPECT_EQ(seen[1], 12U);
  EXPECT_EQ(seen.back(), 4U);
}

TEST(Hysteresis, StaysWithinItsBoundsAndSaysSo) {
  Hysteresis h({.least = 2, .most = 8, .reserve = 1, .low_window = 0s, .most_down = 1});
  EXPECT_EQ(h.decide(4, 4'000'000'000U, 0s).replicas, 8U);
  EXPECT_EQ(h.decide(8, 100, 1s).reason, ScaleReason::kAtTheMost);
  EXPECT_EQ(h.decide(8, 0, 2s).replicas, 2U);
}

TEST(Hysteresis, TheProportionalRuleRoundsUp) {
  EXPECT_EQ(proportional_replicas(10, 2.1, 0.7), 30U);
  EXPECT_EQ(proportional_replicas(10, 0.71, 0.7), 11U);
  EXPECT_EQ(proportional_replicas(10, 0, 0.7), 0U);
}

TEST(AdaptiveBatch, TheTailSteersBothLimits) {
  const BatchLimits now{.most_items = 20, .window = 10ms};
  const BatchBounds bounds{.most_items = 64, .most_window = 50ms};
  const auto shrunk = adapt(now, 46ms, 50ms, bounds);
  EXPECT_DOUBLE_EQ(shrunk.most_items, 16);
  EXPECT_EQ(shrunk.window, 8ms);
  const auto grown = adapt(now, 24ms, 50ms, bounds);
  EXPECT_DOUBLE_EQ(grown.most_items, 22);
  EXPECT_EQ(grown.window, 11ms);
  const auto kept = adapt(now, 30ms, 50ms, bounds);
  EXPECT_DOUBLE_EQ(kept.most_items, 20);
}

TEST(AdaptiveBatch, StaysWithinBoundsForEver) {
  BatchLimits low, high;
  for (int i = 0; i < 1000; ++i) {
    low = adapt(low, 1s, 50ms, {});
    high = adapt(high, 0s, 50ms, {});
  }
  EXPECT_EQ(low.most_items, 1);
  EXPECT_EQ(low.window, 100us);
  EXPECT_EQ(high.most_items, 256);
  EXPECT_EQ(high.window, 100ms);
}

TEST(AdaptiveBatch, TheWindowIsAsLongAsTheArrivalsNeed) {
  EXPECT_EQ(batch_window(32, 5000, 50ms), 6400us);
  EXPECT_EQ(batch_window(32, 10, 50ms), 50ms);
  EXPECT_EQ(batch_window(32, 0, 50ms), 50ms);
}

}  // namespace
}  // namespace weir::policy
