#include "weir/policy/max_min.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "weir/base/random.h"

namespace weir::policy {
namespace {

using testing::ElementsAre;

TEST(MaxMin, SmallDemandsAreMetAndTheRestIsShared) {
  const std::vector<Demand> demands = {{30e3}, {20e3}, {80e3}};
  EXPECT_THAT(max_min_shares(100e3, demands), ElementsAre(30e3, 20e3, 50e3));
}

TEST(MaxMin, WeightsRaiseTheWaterFasterForSome) {
  const std::vector<Demand> demands = {{100, 1}, {100, 3}};
  EXPECT_THAT(max_min_shares(80, demands), ElementsAre(20, 60));
}

TEST(MaxMin, NobodyGetsMoreThanWanted) {
  const std::vector<Demand> demands = {{1}, {0}, {2}};
  EXPECT_THAT(max_min_shares(100, demands), ElementsAre(1, 0, 2));
  EXPECT_TRUE(max_min_shares(5, {}).empty());
  EXPECT_THAT(max_min_shares(0, demands), ElementsAre(0, 0, 0));
}

TEST(MaxMin, NoShareCanGrowWithoutShrinkingASmallerOne) {
  for (std::uint64_t round = 0; round < 2000; ++round) {
    const auto n = 1 + static_cast<std::size_t>(uniform(1, round, 0) * 12);
    std::vector<Demand> demands(n);
    for (std::size_t i = 0; i < n; ++i)
      demands[i] = {1000 * uniform(2, round, i), 0.1 + 5 * uniform(3, round, i)};
    const double capacity = 4000 * uniform(4, round);
    const auto shares = max_min_shares(capacity, demands);
    double wanted = 0;
    double level = 0;  // The highest share by weight of anybody.
    for (std::size_t i = 0; i < n; ++i) {
      wanted += demands[i].wanted;
      ASSERT_GE(shares[i], 0);
      ASSERT_LE(shares[i], demands[i].wanted);
      level = std::max(level, shares[i] / demands[i].weight);
    }
    ASSERT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), std::min(capacity, wanted),
                1e-6);
    // Whoever got less than wanted stands at the highest level of all.
    for (std::size_t i = 0; i < n; ++i) {
      if (shares[i] < demands[i].wanted - 1e-9) {
        ASSERT_NEAR(shares[i] / demands[i].weight, level, 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace weir::policy
