#include "weir/base/math.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir {
namespace {

TEST(Math, AProductThatOverflowsIsNoValue) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(checked_mul<std::uint64_t>(kMax / 2, 2), kMax - 1);
  EXPECT_FALSE(checked_mul<std::uint64_t>(kMax / 2 + 1, 2));
  EXPECT_FALSE(checked_add<std::uint64_t>(kMax, 1));
}

TEST(Math, CeilDivDoesNotOverflowNearTheMaximum) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(ceil_div<std::uint64_t>(kMax, 2), kMax / 2 + 1);
  EXPECT_EQ(ceil_div<std::uint64_t>(0, 16), 0U);
  EXPECT_EQ(round_up<std::uint64_t>(17, 16), 32U);
}

}  // namespace
}  // namespace weir
