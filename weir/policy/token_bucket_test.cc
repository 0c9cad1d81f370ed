#include "weir/policy/token_bucket.h"

#include <gtest/gtest.h>

#include "weir/base/random.h"

namespace weir::policy {
namespace {

using namespace std::chrono_literals;

TEST(TokenBucket, ABurstPassesAndThenTheRate) {
  TokenBucket bucket(10, 5);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(bucket.take(1, 0s));
  EXPECT_FALSE(bucket.take(1, 0s));
  EXPECT_EQ(bucket.wait(1, 0s), 100ms);
  EXPECT_FALSE(bucket.take(1, 99ms));
  EXPECT_TRUE(bucket.take(1, 100ms));
}

TEST(TokenBucket, ItNeverHoldsMoreThanTheBurst) {
  TokenBucket bucket(10, 5);
  EXPECT_EQ(bucket.level(100s), 5);
  bucket.refund(100, 100s);
  EXPECT_EQ(bucket.level(100s), 5);
}

TEST(TokenBucket, ACostAboveTheBurstPassesWhenFullAndLeavesADebt) {
  TokenBucket bucket(10, 5);
  EXPECT_TRUE(bucket.take(20, 0s));
  EXPECT_EQ(bucket.level(0s), -15);
  EXPECT_FALSE(bucket.take(1, 1s));
  EXPECT_TRUE(bucket.take(1, 1600ms));
}

TEST(TokenBucket, TimeThatGoesBackGivesNothing) {
  TokenBucket bucket(10, 5, 10s);
  EXPECT_TRUE(bucket.take(5, 10s));
  EXPECT_FALSE(bucket.take(1, 0s));
  EXPECT_FALSE(bucket.take(1, 10s));
}

TEST(TokenBucket, WhoWaitsAsToldPassesAndInTheLongRunOnlyTheRateDoes) {
  TokenBucket bucket(7.3, 3);
  Instant now{};
  double passed = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const double cost = 0.01 + 4 * uniform(1, i);
    now += bucket.wait(cost, now);
    ASSERT_TRUE(bucket.take(cost, now)) << i;
    passed += cost;
  }
  EXPECT_NEAR(passed / seconds(now), 7.3, 0.05);
}

TEST(SoftQuota, BurstsToTwiceBelowHalfLoadAndIsEnforcedFromNinetyPerCent) {
  EXPECT_EQ(soft_quota(100, 0.2), 200);
  EXPECT_EQ(soft_quota(100, 0.5), 200);
  EXPECT_NEAR(soft_quota(100, 0.7), 150, 1e-9);
  EXPECT_EQ(soft_quota(100, 0.9), 100);
  EXPECT_EQ(soft_quota(100, 5), 100);
}

}  // namespace
}  // namespace weir::policy
