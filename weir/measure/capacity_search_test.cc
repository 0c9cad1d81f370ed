#include "weir/measure/capacity_search.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::measure {
namespace {

/// Searches a server that attains all up to its true capacity and ever less above; returns what is
/// found and how many rates were tried.
std::pair<double, std::size_t> search(double truth, const CapacitySpec& spec) {
  std::vector<RatePoint> tried;
  while (const auto rate = next_rate(tried, spec)) {
    tried.push_back({*rate, *rate <= truth ? 1.0 : truth / *rate * 0.5});
    EXPECT_LT(tried.size(), 100U);
    if (tried.size() >= 100) break;
  }
  return {capacity(tried, spec.target), tried.size()};
}

TEST(CapacitySearch, FindsTheKneeFromBelowAndAbove) {
  for (const double truth : {0.3, 1.0, 7.7, 260.0}) {
    for (const double first : {0.1, 1.0, 100.0}) {
      const auto [found, count] = search(truth, {.first_rate = first, .precision = 1.05});
      EXPECT_LE(found, truth);
      EXPECT_GE(found * 1.05, truth * 0.999) << truth << " from " << first;
      EXPECT_LE(count, 20U);
    }
  }
}

TEST(CapacitySearch, GivesUpAtItsBounds) {
  EXPECT_EQ(search(0, {.least_rate = 0.1}).first, 0);
  EXPECT_EQ(search(1e9, {.most_rate = 64}).first, 64);
}

TEST(CapacitySearch, ALuckyRateAboveAMissDoesNotCount) {
  const std::vector<RatePoint> tried{{1, 1.0}, {2, 0.5}, {4, 0.95}};
  EXPECT_EQ(capacity(tried, 0.9), 1);
  EXPECT_NEAR(next_rate(tried, {}).value(), 1.414, 0.001);
}

TEST(CapacitySearch, TargetsShareWhatWasTried) {
  const std::vector<RatePoint> tried{{1, 1.0}, {2, 0.95}, {4, 0.3}};
  EXPECT_EQ(capacity(tried, 0.9), 2);
  EXPECT_EQ(capacity(tried, 0.99), 1);
}

}  // namespace
}  // namespace weir::measure
