#include "weir/model/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::model {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;

BytePlan plan_of(std::uint64_t pages) {
  BytePlan plan;
  plan.weights = 100 * kMiB;
  plan.activations = 20 * kMiB;
  plan.tables = kMiB / 2;
  plan.sampling = kMiB / 2;
  plan.kv_per_unit = kMiB / 2;
  plan.kv_units = pages;
  return plan;
}

TEST(Budget, WhatFitsIsAccepted) { EXPECT_TRUE(check_budget(plan_of(10), 126 * kMiB)); }

TEST(Budget, OneByteTooFewIsRefusedWithTheSum) {
  const auto refused = check_budget(plan_of(10), 126 * kMiB - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kExhausted);
  EXPECT_THAT(refused.error().message,
              HasSubstr("weights 100.0 + activations 20.0 + tables 0.5 + "
                        "sampling 0.5 + KV cache 5.0 (bf16, 10 pages of 512.0 KiB) = "
                        "126.0 MiB, but 126.0 MiB are available"));
  EXPECT_THAT(refused.error().message, HasSubstr("144 tokens of KV cache would fit"));
}

TEST(Budget, AModelThatNeverFitsSaysSo) {
  const auto refused = check_budget(plan_of(1), 90 * kMiB);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the model alone does not fit"));
}

TEST(Budget, ThePagesThatFitAreAcceptedAndOneMoreIsNot) {
  for (const std::uint64_t available : {121 * kMiB, 130 * kMiB + 7, 500 * kMiB - 1}) {
    const std::uint64_t pages = kv_units_that_fit(plan_of(0), available);
    EXPECT_TRUE(check_budget(plan_of(pages), available));
    EXPECT_FALSE(check_budget(plan_of(pages + 1), available));
  }
}

TEST(Budget, TheDescriptionAddsUp) {
  EXPECT_EQ(describe(plan_of(10)),
            "weights           100.0 MiB  packed\n"
            "activations        20.0 MiB  scratch and logits of one step\n"
            "tables              0.5 MiB  RoPE\n"
            "sampling            0.5 MiB  candidates of the rows chosen for at once\n"
            "KV cache            5.0 MiB  bf16, 10 pages of 512.0 KiB, 16 tokens each\n"
            "total             126.0 MiB\n");
}

TEST(Budget, OfAModelWithWindowsUnitsAreCounted) {
  BytePlan plan = plan_of(100);
  plan.kv = {.layers = 3, .whole = 1, .windowed = 5, .window = 32};
  plan.rows = 16;
  EXPECT_THAT(describe(plan),
              HasSubstr("bf16, 100 units of 512.0 KiB, 16 tokens of 3 layers each"));
  // Of 50 units 4 pages, which 32 positions and 16 rows touch, have 5 each; 30 are left.
  const auto refused = check_budget(plan, 121 * kMiB + 25 * kMiB);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("480 tokens of KV cache would fit"));
}

}  // namespace
}  // namespace weir::model
