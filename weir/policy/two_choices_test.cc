#include "weir/policy/two_choices.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::policy {
namespace {

TEST(TwoChoices, TheLessLoadedOfTwoIsTaken) {
  const std::vector<ReplicaLoad> replicas = {{.work = 5}, {.work = 1}};
  for (std::uint64_t draw = 0; draw < 100; ++draw) EXPECT_EQ(two_choices(replicas, 1, draw), 1U);
}

TEST(TwoChoices, WorkCountsForCapacity) {
  EXPECT_TRUE(prefer({.work = 10, .capacity = 10}, {.work = 2, .capacity = 1}));
}

TEST(TwoChoices, EqualLoadsGoToTheCache) {
  const std::vector<ReplicaLoad> replicas = {{.work = 3, .affinity = 0},
                                             {.work = 3, .affinity = 200}};
  for (std::uint64_t draw = 0; draw < 100; ++draw) EXPECT_EQ(two_choices(replicas, 1, draw), 1U);
}

TEST(TwoChoices, TheTwoAlwaysDifferSoTheWorstOfAllIsNeverTaken) {
  std::vector<ReplicaLoad> replicas(7);
  replicas[3].work = 1;
  for (std::uint64_t draw = 0; draw < 5000; ++draw) EXPECT_NE(two_choices(replicas, 9, draw), 3U);
}

TEST(TwoChoices, EveryReplicaIsDrawnAlike) {
  const std::vector<ReplicaLoad> replicas(10);
  std::vector<int> taken(10);
  for (std::uint64_t draw = 0; draw < 20'000; ++draw) ++taken[two_choices(replicas, 4, draw)];
  for (int n : taken) EXPECT_NEAR(n, 2000, 200);
}

TEST(TwoChoices, OneChoiceGoesWithTheWeights) {
  std::vector<ReplicaLoad> replicas = {{.capacity = 1000}, {.capacity = 600}};
  int first = 0;
  for (std::uint64_t draw = 0; draw < 20'000; ++draw) first += one_choice(replicas, 4, draw) == 0;
  EXPECT_NEAR(first / 20'000.0, 1000.0 / 1600, 0.015);
  // Ten of 1000 and twenty of 600 requests a second: 4.5 % and 2.7 % each.
  EXPECT_NEAR(capacity_weight(1000, 22'000), 0.04545, 1e-5);
  EXPECT_NEAR(capacity_weight(600, 22'000), 0.02727, 1e-5);
}

}  // namespace
}  // namespace weir::policy
