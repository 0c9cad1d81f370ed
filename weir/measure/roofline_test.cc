#include "weir/measure/roofline.h"

#include <gtest/gtest.h>

namespace weir::measure {
namespace {

constexpr Roofs kMachine = {.bandwidth = 33e9, .int8 = 920e9, .bf16 = 456e9, .f32 = 208e9};

TEST(Spread, IsOfRatesSoTheBestIsTheLargest) {
  const Spread s = spread_of({5, 1, 4, 2, 3, 11, 6, 7, 8, 9, 10});
  EXPECT_EQ(s.best, 11);
  EXPECT_EQ(s.median, 6);
  EXPECT_EQ(s.p10, 2) << "nine in ten are at least this";
  EXPECT_EQ(s.samples, 11U);
  EXPECT_EQ(spread_of({}).samples, 0U);
}

TEST(Roofline, TheCrossoverIsTheFormulaOfBitsAndRidge) {
  // b bits a weight, one row: 2 operations a weight. M* = (b / 16) (P / BW).
  for (const double bits : {4.5, 5.0, 8.5, 16.0}) {
    const Work row = {.bytes = 1e6 * bits / 8, .int8_ops = 2e6};
    EXPECT_NEAR(crossover_rows(row, kMachine), bits / 16 * (920.0 / 33.0), 1e-9);
  }
  const Work halves = {.bytes = 2e6, .bf16_ops = 2e6};
  EXPECT_NEAR(crossover_rows(halves, kMachine), 456.0 / 33.0, 1e-9);
  const Work floats = {.bytes = 4e6, .f32_ops = 2e6};
  EXPECT_NEAR(crossover_rows(floats, kMachine), 32.0 / 16 * (208.0 / 33.0), 1e-9);
}

TEST(Roofline, BothBoundsMeetAtTheCrossover) {
  const Work row =
      Work{.bytes = 66.36e6, .int8_ops = 212e6} + Work{.bytes = 30.08e6, .f32_ops = 57e6};
  const double rows = crossover_rows(row, kMachine);
  const Work there = with_rows(row, rows);
  EXPECT_NEAR(memory_seconds(there, kMachine), compute_seconds(there, kMachine), 1e-12);
  EXPECT_TRUE(memory_bound(with_rows(row, rows * 0.99), kMachine));
  EXPECT_FALSE(memory_bound(with_rows(row, rows * 1.01), kMachine));
}

TEST(Roofline, WhatIsAttainableRisesWithIntensityUpToTheRoof) {
  const Work row = {.bytes = 5e6, .int8_ops = 16e6};
  EXPECT_NEAR(attainable(row, kMachine), 33e9 * row.intensity(), 1);
  EXPECT_NEAR(attainable(with_rows(row, 4), kMachine), 4 * attainable(row, kMachine), 1);
  EXPECT_NEAR(attainable(with_rows(row, 1000), kMachine), 920e9, 1);
}

TEST(Roofline, AMachineWithoutARateIsNotAskedForIt) {
  const Work row = {.bytes = 1e6, .int8_ops = 2e6};
  EXPECT_GT(least_seconds(row, {.bandwidth = 1e9, .int8 = 1e9, .f32 = 0}), 0);
}

TEST(Roofline, TheMeasuredCrossoverIsWhereTheLinesMeet) {
  // A step that takes max(3 ms, M x 0.4 ms).
  EXPECT_DOUBLE_EQ(measured_crossover(3e-3, 128 * 0.4e-3, 128), 7.5);
}

TEST(Roofline, AShareIsOfTheRoofsOnBothSides) {
  EXPECT_DOUBLE_EQ(share_of(50, 100, 100), 0.5);
  EXPECT_DOUBLE_EQ(share_of(30, 100, 50), 0.4);
}

}  // namespace
}  // namespace weir::measure
