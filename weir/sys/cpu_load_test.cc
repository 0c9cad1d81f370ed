#include "weir/sys/cpu_load.h"

#include <gtest/gtest.h>

namespace weir::sys {
namespace {

TEST(CpuLoad, ReadsTheFirstLineOfProcStat) {
  const auto times = parse_cpu_times(
      "cpu  98172 3 15929 19031 394 5 95 76 17 0\ncpu0 47877 0 7552 11351 32 0 6 37 0 0\n", 100);
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->busy, 981.72 + 0.03 + 159.29 + 0.05 + 0.95)
      << "guests are within user time already";
  EXPECT_DOUBLE_EQ(times->idle, 190.31 + 3.94) << "waiting for a disk is idle";
  EXPECT_DOUBLE_EQ(times->steal, 0.76);
}

TEST(CpuLoad, AnOldKernelTellsOfNoSteal) {
  const auto times = parse_cpu_times("cpu 10 0 10 80", 100);
  ASSERT_TRUE(times);
  EXPECT_DOUBLE_EQ(times->busy, 0.2);
  EXPECT_DOUBLE_EQ(times->steal, 0);
}

TEST(CpuLoad, WhatIsNoSuchLineIsNone) {
  for (const char* text : {"", "cpu", "cpu ", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3", "cpu 1 2 x 4 5",
                           "intr 1 2 3 4 5 6 7 8"}) {
    EXPECT_FALSE(parse_cpu_times(text, 100)) << text;
  }
}

TEST(CpuLoad, SharesOfTheTimeThatPassedAddUpToOne) {
  const CpuTimes before = {.busy = 100, .idle = 50, .steal = 1, .own = 2};
  const CpuTimes after = {.busy = 106, .idle = 53, .steal = 2, .own = 6};
  const CpuLoad load = load_between(before, after);
  EXPECT_DOUBLE_EQ(load.own, 0.4);
  EXPECT_DOUBLE_EQ(load.others, 0.2);
  EXPECT_DOUBLE_EQ(load.steal, 0.1);
  EXPECT_DOUBLE_EQ(load.idle, 0.3);
}

TEST(CpuLoad, NeverNegativeAndNothingOfNothing) {
  const CpuTimes now = {.busy = 10, .idle = 10, .steal = 0, .own = 3};
  EXPECT_EQ(load_between(now, now).own, 0);
  // The process clock is finer than the ticks: it may be ahead of them.
  const CpuLoad load = load_between(now, {.busy = 10.01, .idle = 9.99, .steal = 0, .own = 3.015});
  EXPECT_EQ(load.others, 0);
  EXPECT_EQ(load.idle, 0);
}

TEST(CpuLoad, ThisMachineSaysHowBusyItIs) {
  const auto times = read_cpu_times();
  ASSERT_TRUE(times);
  EXPECT_GT(times->busy + times->idle, 0);
  EXPECT_GE(times->own, 0);
}

}  // namespace
}  // namespace weir::sys
