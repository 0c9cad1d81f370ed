#include "weir/policy/reserve.h"

#include <gtest/gtest.h>

#include "weir/base/random.h"

namespace weir::policy {
namespace {

constexpr auto kBackground = Priority::kBackground;
constexpr auto kStandard = Priority::kStandard;
constexpr auto kCritical = Priority::kCritical;

TEST(Reserve, EachClassLeavesAloneWhatIsForThoseAboveIt) {
  const Reserve reserve{{0, 20, 10}};
  EXPECT_EQ(set_aside(reserve, kBackground, 100), 30U);
  EXPECT_EQ(set_aside(reserve, kStandard, 100), 10U);
  EXPECT_EQ(set_aside(reserve, kCritical, 100), 0U);
  EXPECT_EQ(set_aside(reserve, kStandard, 8), 1U);    // Rounded up: a reserve of none is none.
  EXPECT_EQ(set_aside(reserve, kBackground, 2), 1U);  // One is always left.
  EXPECT_EQ(set_aside(reserve, kBackground, 0), 0U);
}

TEST(Reserve, TheSmallestTotalThatLeavesEnoughIsFound) {
  for (const Reserve& reserve : {Reserve{}, Reserve{{0, 0, 10}}, Reserve{{0, 33, 57}}}) {
    for (std::uint32_t wanted = 1; wanted < 600; ++wanted) {
      for (const Priority p : {kBackground, kStandard, kCritical}) {
        const auto total = static_cast<std::uint32_t>(total_that_leaves(reserve, p, wanted));
        ASSERT_GE(total - set_aside(reserve, p, total), wanted);
        ASSERT_LT(total - 1 - set_aside(reserve, p, total - 1), wanted);
      }
    }
  }
}

TEST(Reserve, OfNothingIsInNobodysWay) {
  EXPECT_TRUE(Reserve{}.empty());
  EXPECT_EQ(bound_met(Reserve{}, kBackground, 5, {100, 0, {100, 0, 0}}), std::nullopt);
}

TEST(Reserve, AClassMayHaveAllThatIsNotForThoseAboveIt) {
  const Reserve reserve{{0, 0, 10}};
  EXPECT_EQ(bound_met(reserve, kStandard, 1, {100, 10, {90, 90, 0}}), kStandard);
  EXPECT_EQ(bound_met(reserve, kStandard, 1, {100, 10, {90, 90, 4}}), std::nullopt);
  EXPECT_EQ(bound_met(reserve, kStandard, 5, {100, 10, {90, 90, 4}}), kStandard);
  EXPECT_EQ(bound_met(reserve, kCritical, 10, {100, 10, {90, 90, 4}}), std::nullopt);
  // With nothing free it is told apart from a lack that anybody could end by leaving.
  EXPECT_EQ(bound_met(reserve, kStandard, 1, {100, 0, {100, 100, 10}}), kStandard);
  EXPECT_EQ(bound_met(reserve, kStandard, 1, {100, 0, {100, 100, 11}}), std::nullopt);
}

/// Counts of what each class has alone, which is how the promise is made: the classes up to c have
/// at most total - R(c) together.
TEST(Reserve, AgreesWithThePromiseWhateverIsUsed) {
  int stopped[kPriorities] = {};
  int passed = 0;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const auto r = philox(11, i);
    const Reserve reserve{{0, r[0] % 40, r[0] / 64 % 40}};
    const std::uint32_t total = 1 + r[1] % 60;
    std::uint64_t has[kPriorities];
    std::uint64_t left = total;
    for (std::size_t c = kPriorities; c-- > 0;) {
      has[c] = philox(12, i, c)[0] % (left + 1);
      left -= has[c];
    }
    const Usage usage{total,
                      static_cast<std::int64_t>(left),
                      {has[0] + has[1] + has[2], has[1] + has[2], has[2]}};
    const auto p = static_cast<Priority>(r[2] % 3);
    const std::uint64_t wanted = 1 + r[3] % 20;
    std::optional<Priority> want;
    for (std::size_t c = static_cast<std::size_t>(p); c + 1 < kPriorities && !want; ++c) {
      std::uint64_t up_to = wanted;
      for (std::size_t below = 0; below <= c; ++below) up_to += has[below];
      const std::uint32_t aside = set_aside(reserve, static_cast<Priority>(c), total);
      if (aside > 0 && up_to > total - aside) want = static_cast<Priority>(c);
    }
    const auto have = bound_met(reserve, p, wanted, usage);
    ASSERT_EQ(have, want) << "round " << i;
    if (want) {
      ++stopped[static_cast<std::size_t>(*want)];
    } else {
      ++passed;
    }
  }
  EXPECT_GT(stopped[0], 1000);
  EXPECT_GT(stopped[1], 1000);
  EXPECT_GT(passed, 1000);
}

TEST(Reserve, OvertakingWithinItLeavesTheOneOvertakenWhatItMayHave) {
  const Reserve reserve{{0, 20, 10}};
  const Usage usage{100, 40, {60, 25, 4}};
  EXPECT_TRUE(takes_nothing_from(reserve, kBackground, 5, usage));
  EXPECT_FALSE(takes_nothing_from(reserve, kBackground, 6, usage));
  EXPECT_TRUE(takes_nothing_from(reserve, kStandard, 6, usage));
  EXPECT_FALSE(takes_nothing_from(reserve, kStandard, 7, usage));
  EXPECT_FALSE(takes_nothing_from(reserve, kCritical, 0, usage));
}

}  // namespace
}  // namespace weir::policy
