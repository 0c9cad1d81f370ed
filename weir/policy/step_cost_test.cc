#include "weir/policy/step_cost.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "weir/base/random.h"

namespace weir::policy {
namespace {

using namespace std::chrono_literals;

constexpr StepCostShape kShape{1e9, 2e9, 1e5};    // 10 ms of weights; 2 ms a row; 1 us a position.
constexpr MachineRates kRates{1e11, 1e12, 1e-3};  // The knee is at five rows.

TEST(StepCost, IsTheRoofline) {
  const StepCost cost(kShape, kRates);
  EXPECT_NEAR(seconds(cost.estimate({1, 0})), 0.011, 1e-9);   // The weights bind:
  EXPECT_NEAR(seconds(cost.estimate({5, 0})), 0.011, 1e-9);   // more rows are free up to the knee.
  EXPECT_NEAR(seconds(cost.estimate({50, 0})), 0.101, 1e-9);  // Operations bind.
  EXPECT_NEAR(seconds(cost.estimate({1, 4000})), 0.015, 1e-9);  // KV reads come on top.
}

TEST(StepCost, AMachineTwiceAsSlowIsLearntInBothRegimes) {
  StepCost cost(kShape, kRates);
  const StepCost truth(kShape, {kRates.bytes_per_second / 2, kRates.ops_per_second / 2, 2e-3});
  for (int i = 0; i < 100; ++i) {
    cost.observe({1, 100}, truth.estimate({1, 100}));
    cost.observe({200, 100}, truth.estimate({200, 100}));
  }
  for (const StepWork work :
       {StepWork{1, 100}, StepWork{4, 0}, StepWork{200, 100}, StepWork{20, 0}})
    EXPECT_NEAR(seconds(cost.estimate(work)) / seconds(truth.estimate(work)), 1, 0.01);
}

TEST(StepCost, AStallMovesTheEstimateByATenthAtMost) {
  StepCost cost(kShape, kRates);
  const double before = seconds(cost.estimate({1, 0}));
  cost.observe({1, 0}, 3600s);
  EXPECT_NEAR(seconds(cost.estimate({1, 0})) / before, 1.1, 1e-9);
  cost.observe({1, 0}, 1ns);
  EXPECT_NEAR(seconds(cost.estimate({1, 0})) / before, 1.1 * 0.95, 1e-9);
}

TEST(StepCost, AStepOfNothingOrOfNoTimeTeachesNothing) {
  StepCost cost(kShape, kRates);
  const Duration before = cost.estimate({1, 0});
  cost.observe({0, 0}, 1s);
  cost.observe({1, 0}, 0s);
  cost.observe({1, 0}, -1s);
  EXPECT_EQ(cost.estimate({1, 0}), before);
}

TEST(StepCost, WithoutEndInOneDirectionTheEstimateStaysWithinAHundredfold) {
  StepCost cost(kShape, kRates);
  for (int i = 0; i < 2000; ++i) cost.observe({1, 0}, 1h);
  EXPECT_NEAR(seconds(cost.estimate({1, 0})), 1.1, 1e-6);
  for (int i = 0; i < 4000; ++i) cost.observe({1, 0}, 1ns);
  EXPECT_NEAR(seconds(cost.estimate({1, 0})), 0.00011, 1e-6);
}

TEST(StepCost, MoreWorkNeverTakesLessTimeWhateverWasLearnt) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    StepCost cost(kShape, kRates);
    for (std::uint64_t i = 0; i < 200; ++i) {
      const auto r = philox(seed, i);
      cost.observe({1 + r[0] % 20, r[1] % 10000}, std::chrono::microseconds(1 + r[2] % 200000));
    }
    for (std::uint32_t rows = 1; rows < 100; ++rows) {
      ASSERT_LE(cost.estimate({rows, 500}), cost.estimate({rows + 1, 500})) << rows;
      ASSERT_LE(cost.estimate({rows, 500}), cost.estimate({rows, 600})) << rows;
    }
  }
}

/// By trying every number of rows.
std::uint32_t rows_within_naively(const StepCost& cost, Duration target, const StepWork& work,
                                  std::uint32_t most) {
  std::uint32_t best = work.rows;
  for (std::uint32_t rows = work.rows; rows <= most; ++rows)
    if (cost.estimate({rows, work.kv_tokens}) <= target) best = rows;
  return best;
}

TEST(StepCost, RowsWithinATargetAreTheMostThatKeepIt) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto setup = philox(seed, 0);
    StepCost cost({1e6 * (setup[0] % 1000), 1e6 * (1 + setup[1] % 1000), 1e3 * (setup[2] % 100)},
                  {1e11, 1e11, 1e-6 * (setup[3] % 1000)});
    for (std::uint64_t i = 1; i < 40; ++i) {
      const auto r = philox(seed, i);
      cost.observe({1 + r[0] % 200, r[1] % 10000}, std::chrono::microseconds(r[2] % 50000));
      const StepWork work{r[3] % 30, r[1] % 5000};
      const Duration target = std::chrono::microseconds(r[2] % 30000);
      const std::uint32_t most = r[0] % 400;
      ASSERT_EQ(cost.rows_within(target, work, most),
                rows_within_naively(cost, target, work, most));
    }
  }
}

TEST(StepCost, ATargetThatIsMissedAlreadyAllowsWhatIsThereAndATargetWithoutEndAllowsTheMost) {
  const StepCost cost(kShape, kRates);
  EXPECT_EQ(cost.rows_within(1ns, {7, 0}, 100), 7U);
  EXPECT_EQ(cost.rows_within(1h, {7, 0}, 3), 7U);
  EXPECT_EQ(cost.rows_within(Duration::max(), {0, 0}, 0xFFFFFFFF), 0xFFFFFFFF);
}

}  // namespace
}  // namespace weir::policy
