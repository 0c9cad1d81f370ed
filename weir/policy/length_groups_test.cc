#include "weir/policy/length_groups.h"

#include <gtest/gtest.h>

namespace weir::policy {
namespace {

TEST(LengthGroups, ALengthBelongsToTheFirstGroupThatHoldsIt) {
  const LengthGroups groups = {{50, 8}, {200, 16}, {0xFFFFFFFF, 32}};
  EXPECT_EQ(group_of(groups, 1), 0U);
  EXPECT_EQ(group_of(groups, 50), 0U);
  EXPECT_EQ(group_of(groups, 51), 1U);
  EXPECT_EQ(group_of(groups, 201), 2U);
  EXPECT_EQ(group_of({{50, 8}}, 1000), 0U);  // The last takes what is longer.
}

}  // namespace
}  // namespace weir::policy
