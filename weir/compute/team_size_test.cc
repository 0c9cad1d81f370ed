#include "weir/compute/team_size.h"

#include <gtest/gtest.h>

namespace weir::compute {
namespace {

using std::chrono::milliseconds;

/// Steps of a model whose work is 8 ms of one core, on `most` cores of which one may be half taken:
/// then a full team takes 12 ms and waits 10 ms of them, a team of one fewer is not disturbed.
struct Machine {
  explicit Machine(std::size_t workers) : size(workers), most(workers) {}

  void step() {
    const std::size_t n = size.next(now);
    const bool lost = busy && n == most;
    TeamSize::Duration took = milliseconds(12);
    if (!lost) took = TeamSize::Duration(milliseconds(8)) / static_cast<int>(n);
    now += took;
    size.ran(n, took, lost ? TeamSize::Duration(milliseconds(14)) : took / 10, now);
    ++steps;
    full += n == most;
  }
  void until(TeamSize::Duration end) {
    steps = full = 0;
    while (now < end) step();
  }
  TeamSize size;
  std::size_t most;
  bool busy = false;
  TeamSize::Duration now{0};
  int steps = 0;
  int full = 0;
};

TEST(TeamSize, AQuietMachineKeepsItsFullTeam) {
  Machine m(2);
  m.until(std::chrono::seconds(1));
  EXPECT_EQ(m.full, m.steps);
}

TEST(TeamSize, OneBadStepIsForgiven) {
  Machine m(2);
  for (int i = 0; i < 10; ++i) {
    m.busy = true;
    m.step();
    m.busy = false;
    m.step();
  }
  EXPECT_EQ(m.full, 20);
}

TEST(TeamSize, AHalfTakenCoreIsLeftOutAndCostsLittle) {
  for (const std::size_t most : {2, 3, 8}) {
    Machine m(most);
    m.busy = true;
    m.until(std::chrono::seconds(20));
    const double alone = 20.0 / (0.008 / static_cast<double>(most - 1));
    EXPECT_GT(m.steps, 0.95 * alone);
    EXPECT_GT(m.full, 2) << "it is tried again now and then";
  }
}

TEST(TeamSize, TheFullTeamIsBackSoonAfterTheCoreIs) {
  Machine m(2);
  m.busy = true;
  m.until(std::chrono::seconds(10));
  m.busy = false;
  m.until(m.now + TeamSize::kLongestPause);
  m.until(m.now + std::chrono::seconds(1));
  EXPECT_EQ(m.full, m.steps);
}

TEST(TeamSize, ShortRunsAndTeamsOfOneSayNothing) {
  TeamSize two(2);
  TeamSize one(1);
  TeamSize::Duration now{0};
  for (int i = 0; i < 100; ++i) {
    now += milliseconds(1);
    two.ran(2, std::chrono::microseconds(100), milliseconds(1), now);
    one.ran(1, milliseconds(1), milliseconds(5), now);
  }
  EXPECT_EQ(two.next(now), 2);
  EXPECT_EQ(one.next(now), 1);
}

}  // namespace
}  // namespace weir::compute
