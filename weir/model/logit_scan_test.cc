#include "weir/model/logit_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "weir/model/testing/random_sampling.h"

namespace weir::model {
namespace {

using testing::Dice;
using testing::kInf;
using testing::peaks_of;
using testing::random_logits;
using testing::spoil;

TEST(LogitScan, WeightsAreExponentialsToTwoPartsInTenMillion) {
  for (double x = -87.3; x <= 0; x += 0.00137) {
    const auto f = static_cast<float>(x);
    EXPECT_NEAR(weight_of(f) / std::exp(static_cast<double>(f)), 1, 2e-7) << x;
  }
  EXPECT_EQ(weight_of(-87.4F), 0.0F);
  EXPECT_EQ(weight_of(-kInf), 0.0F);
  EXPECT_EQ(weight_of(0.0F), 1.0F);
}

TEST(LogitScan, APeakIsTheLargestOfItsBlockOrNaN) {
  Dice dice{11};
  for (std::size_t size : {1U, 15U, 255U, 256U, 257U, 1000U, 4099U}) {
    for (int round = 0; round < 20; ++round) {
      auto logits = random_logits(dice, size);
      for (int i = round % 3; i > 0; --i) spoil(dice, logits);
      const std::vector<float> peaks = peaks_of(logits);
      for (std::size_t block = 0; block < peaks.size(); ++block) {
        float want = -kInf;
        for (std::size_t i = block * kPeakBlock; i < std::min(size, (block + 1) * kPeakBlock); ++i)
          want =
              std::isnan(want) || std::isnan(logits[i]) ? std::nanf("") : std::max(want, logits[i]);
        EXPECT_TRUE(peaks[block] == want || (std::isnan(want) && std::isnan(peaks[block])));
      }
    }
  }
}

TEST(LogitScan, SweepsEqualTheScalarWeightsInTheFixedOrder) {
  Dice dice{10};
  for (std::size_t size : {1U, 31U, 32U, 33U, 1023U, 1024U, 1025U, 4099U}) {
    const auto logits = random_logits(dice, size);
    const float max = scan_maximum(logits).value;
    std::vector<double> got((size + kScanBlock - 1) / kScanBlock);
    sum_weights(logits, max, 0.7F, got);
    for (std::size_t block = 0; block < got.size(); ++block) {
      float sums[32] = {};
      for (std::size_t i = block * kScanBlock; i < std::min(size, (block + 1) * kScanBlock); ++i) {
        sums[i % 32] += weight_of((logits[i] - max) * 0.7F);
      }
      double want = 0;
      for (float s : sums) want += s;
      EXPECT_EQ(got[block], want) << size << " block " << block;
    }
  }
}

}  // namespace
}  // namespace weir::model
