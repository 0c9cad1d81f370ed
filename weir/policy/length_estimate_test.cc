#include "weir/policy/length_estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "weir/base/random.h"

namespace weir::policy {
namespace {

constexpr std::uint32_t kMax = 100'000;
constexpr double kStep = 1.0906;  // 2^(1/8), the width of a bucket.

LengthEstimate learnt(std::uint32_t tokens, int times) {
  LengthEstimate lengths;
  for (int i = 0; i < times; ++i) lengths.observe(tokens);
  return lengths;
}

TEST(LengthEstimate, CountsOnTheWorstUntilEnoughAnswersWereSeen) {
  EXPECT_EQ(LengthEstimate().expect(0.9, kMax), kMax);
  EXPECT_EQ(learnt(10, 20).expect(0.9, kMax), kMax);
  EXPECT_EQ(learnt(10, 21).expect(0.9, kMax), 10U);
}

TEST(LengthEstimate, NeverExceedsMaxTokensNorFallsBelowWhatIsThere) {
  const LengthEstimate lengths = learnt(100, 500);
  EXPECT_EQ(lengths.expect(0.9, 30), 30U);
  EXPECT_EQ(lengths.expect_beyond(0.9, 50, kMax), 107U);   // 100, rounded up to its bucket.
  EXPECT_EQ(lengths.expect_beyond(0.9, 200, kMax), kMax);  // Nobody was ever that long.
  EXPECT_EQ(lengths.expect_beyond(0.9, 200, 200), 200U);
  EXPECT_EQ(lengths.expect_beyond(0.9, 0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF);
}

TEST(LengthEstimate, IsNeverTooShortAndAtMostABucketTooLong) {
  for (std::uint32_t tokens = 1; tokens < 5000; ++tokens) {
    const std::uint32_t expected = learnt(tokens, 30).expect(0.5, kMax);
    ASSERT_GE(expected, tokens);
    ASSERT_LE(expected, tokens * kStep);
  }
  for (const std::uint32_t tokens : {0U, 1U << 20, (1U << 31) + 1, 0xFFFFFFFFU})
    EXPECT_GE(learnt(tokens, 30).expect(0.5, 0xFFFFFFFF), tokens);
}

TEST(LengthEstimate, FollowsTrafficThatChanges) {
  LengthEstimate lengths = learnt(1000, 2000);
  for (int i = 0; i < 400; ++i) lengths.observe(10);  // A little more than the half-life.
  EXPECT_EQ(lengths.expect(0.5, kMax), 10U);
  EXPECT_GE(lengths.expect(0.9, kMax), 1000U);
  for (int i = 0; i < 1200; ++i) lengths.observe(10);
  EXPECT_EQ(lengths.expect(0.9, kMax), 10U);
}

/// Every answer ever seen, the latest with weight 1 and each older one 0.998 of the next.
struct NaiveLengths {
  std::vector<std::uint32_t> seen;
  /// The weight of those of `from` tokens or more that have at most `to`.
  [[nodiscard]] double weight(double from, double to) const {
    double sum = 0;
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i] >= from && seen[i] <= to)
        sum += std::pow(0.998, static_cast<double>(seen.size() - 1 - i));
    return sum;
  }
};

TEST(LengthEstimate, TheQuantileOfRandomAnswersIsRightToABucket) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    LengthEstimate lengths;
    NaiveLengths naive;
    for (std::uint64_t i = 0; i < 600; ++i) {
      const auto tokens =
          static_cast<std::uint32_t>(std::exp2(12 * uniform(seed, i) * uniform(seed, i, 1)));
      lengths.observe(tokens);
      naive.seen.push_back(tokens);
      if (i % 50 != 49) continue;
      for (const double quantile : {0.1, 0.5, 0.9, 0.99}) {
        const double q = lengths.expect(quantile, kMax);
        const double all = naive.weight(0, 1e9);
        // At least `quantile` of the answers are not longer, and not even a bucket less would do.
        ASSERT_GE(naive.weight(0, q), quantile * all - 1e-6) << quantile;
        ASSERT_LT(naive.weight(0, q / kStep - 1), quantile * all + 1e-6) << quantile;
      }
    }
  }
}

TEST(LengthEstimate, GivenWhatIsThereTheQuantileIsThatOfTheLongerAnswers) {
  LengthEstimate lengths;
  NaiveLengths naive;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto tokens = 1 + philox(5, i)[0] % 1000;
    lengths.observe(tokens);
    naive.seen.push_back(tokens);
  }
  std::uint32_t last = 0;
  for (std::uint32_t so_far = 0; so_far < 900; so_far += 7) {
    const double q = lengths.expect_beyond(0.9, so_far, kMax);
    const double longer = naive.weight(so_far + 1, 1e9);
    ASSERT_GT(q, so_far);
    ASSERT_GE(q, last);  // The longer it is already, the longer it will be.
    last = static_cast<std::uint32_t>(q);
    // Answers that share the bucket of so_far + 1 but are shorter count as well.
    const double shorter = naive.weight((so_far + 1) / kStep, so_far);
    ASSERT_GE(naive.weight(so_far + 1, q), 0.9 * longer - 0.1 * shorter - 1e-6) << so_far;
    ASSERT_LE(naive.weight(so_far + 1, q / kStep - 1), 0.9 * longer + 1e-6) << so_far;
  }
}

}  // namespace
}  // namespace weir::policy
