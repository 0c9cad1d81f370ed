#include "weir/model/logit_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "weir/model/testing/random_sampling.h"

namespace weir::model {
namespace {

using testing::Dice;
using testing::peaks_of;
using testing::random_history;
using testing::random_logits;
using testing::random_params;
using testing::sampler_for;
using testing::spoil;

TEST(LogitRow, BlocksThatCannotMatterAreLeftOutAndNothingElse) {
  constexpr std::uint64_t kSeed = 20261130;
  SCOPED_TRACE(kSeed);
  int failed = 0;
  for (std::uint64_t round = 0; round < 3000; ++round) {
    SCOPED_TRACE(round);
    Dice dice{kSeed + round};
    const auto vocabulary =
        static_cast<std::int32_t>(1 + dice.below(round % 10 == 0 ? 20000 : 3000));
    auto logits = random_logits(dice, static_cast<std::size_t>(vocabulary));
    if (dice.below(10) == 0) spoil(dice, logits);
    auto params = random_params(dice, vocabulary);
    if (dice.below(5) == 0) params.temperature = 0;
    const auto sampler = sampler_for(params, random_history(dice, vocabulary), vocabulary, round);
    std::vector<TokenId> banned;
    for (std::uint32_t n = dice.below(3); n > 0; --n)
      banned.push_back(static_cast<TokenId>(dice.below(static_cast<std::uint32_t>(vocabulary))));
    const std::vector<float> peaks = peaks_of(logits);
    const LogitRow plain{logits};
    const LogitRow row{logits, peaks};
    SamplerWorkspace workspace(vocabulary);
    EXPECT_EQ(sampler.distribution(row, workspace), sampler.distribution(plain, workspace));
    std::optional<TokenId> chosen;
    for (std::uint64_t position = 0; position < 4; ++position) {
      chosen = sampler.sample(row, position, workspace, banned);
      ASSERT_EQ(chosen, sampler.sample(plain, position, workspace, banned));
    }
    if (!chosen) ++failed;
    const LogitMaximum maximum = plain.maximum();
    if (maximum.has_nan || !std::isfinite(maximum.value)) continue;
    const Logprobs got = logprobs(row, 0, 7, workspace);
    const Logprobs want = logprobs(plain, 0, 7, workspace);
    ASSERT_EQ(got.chosen, want.chosen);
    ASSERT_EQ(got.top.size(), want.top.size());
    for (std::size_t i = 0; i < got.top.size(); ++i) {
      ASSERT_EQ(got.top[i].token, want.top[i].token);
      ASSERT_EQ(got.top[i].logprob, want.top[i].logprob);
    }
  }
  EXPECT_GT(failed, 50);
}

TEST(LogitRow, WhatABiasRaisesOrABanLowersIsSeenInItsBlock) {
  std::vector<float> logits(3000, 0.0F);
  logits[100] = 5;
  const std::vector<float> peaks = peaks_of(logits);
  SamplerWorkspace workspace(3000);
  for (const float temperature : {0.0F, 0.01F}) {
    SamplingParams params;
    params.temperature = temperature;
    params.top_p = 0.5F;
    const std::vector<TokenId> banned = {100};
    EXPECT_EQ(Sampler(params, 1, 3000, 0).sample({logits, peaks}, 0, workspace), 100);
    params.logit_bias = {{2999, 9.0F}, {1500, 8.0F}};
    EXPECT_EQ(Sampler(params, 1, 3000, 0).sample({logits, peaks}, 0, workspace), 2999);
    params.logit_bias = {{2999, 4.0F}};
    EXPECT_EQ(Sampler(params, 1, 3000, 0).sample({logits, peaks}, 0, workspace), 100);
    EXPECT_EQ(Sampler(params, 1, 3000, 0).sample({logits, peaks}, 0, workspace, banned), 2999);
  }
}

}  // namespace
}  // namespace weir::model
