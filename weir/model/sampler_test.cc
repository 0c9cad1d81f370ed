#include "weir/model/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "weir/model/allocation_count.h"
#include "weir/model/testing/random_sampling.h"

namespace weir::model {
namespace {

using testing::Dice;
using testing::History;
using testing::kInf;
using testing::random_history;
using testing::random_logits;
using testing::random_params;
using testing::sampler_for;

/// What sampling means, written for reading: doubles, full sorts, one filter after another.
/// Each boundary that rounding could move is reported through `doubtful`.
struct Reference {
  SamplingParams p;
  History history;
  bool doubtful = false;

  std::map<TokenId, double> distribution(const std::vector<float>& logits) {
    std::vector<double> l(logits.begin(), logits.end());
    for (const auto& [t, b] : p.logit_bias)
      l[static_cast<std::size_t>(t)] += static_cast<double>(b);
    std::map<TokenId, int> answer;
    std::set<TokenId> seen(history.prompt.begin(), history.prompt.end());
    for (TokenId t : history.answer) ++answer[t], seen.insert(t);
    for (TokenId t : seen) {
      double& x = l[static_cast<std::size_t>(t)];
      x = x > 0 ? x / static_cast<double>(p.repetition_penalty)
                : x * static_cast<double>(p.repetition_penalty);
    }
    for (const auto& [t, n] : answer) {
      l[static_cast<std::size_t>(t)] -=
          static_cast<double>(p.presence_penalty) + static_cast<double>(p.frequency_penalty) * n;
    }
    std::vector<std::pair<double, TokenId>> all;  // x, token
    const double max = *std::max_element(l.begin(), l.end());
    for (std::size_t i = 0; i < l.size(); ++i) {
      if (std::isinf(l[i])) continue;
      all.emplace_back((l[i] - max) / static_cast<double>(p.temperature), static_cast<TokenId>(i));
    }
    const auto by = [&](auto key) {
      std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
        return key(a) != key(b) ? key(a) > key(b) : a.second < b.second;
      });
    };
    const auto value = [](const auto& a) { return a.first; };
    const auto keep = [&](double share, auto key) {
      by(key);
      const double z = total(all);
      double sum = 0;
      std::size_t n = 0;
      while (n < all.size()) {
        sum += std::exp(all[n++].first);
        if (std::abs(sum / z - share) < 3e-6) doubtful = true;
        if (sum >= share * z) break;
      }
      // Where the order of two candidates at the cut is within rounding, either may be kept.
      if (n < all.size() && key(all[n - 1]) != key(all[n]) &&
          std::abs(key(all[n - 1]) - key(all[n])) < 2e-5 * (1 + std::abs(key(all[n])))) {
        doubtful = true;
      }
      all.resize(n);
    };
    if (p.top_k > 0 && static_cast<std::size_t>(p.top_k) < all.size()) {
      by(value);
      const auto k = static_cast<std::size_t>(p.top_k);
      if (all[k - 1].first != all[k].first && std::abs(all[k - 1].first - all[k].first) < 1e-5)
        doubtful = true;
      all.resize(k);
    }
    if (p.typical_p < 1) {
      const double z = total(all);
      double center = 0;
      for (const auto& [x, t] : all) center += std::exp(x) / z * x;
      keep(static_cast<double>(p.typical_p),
           [&](const auto& a) { return -std::abs(a.first - center); });
    }
    if (p.top_p < 1) keep(static_cast<double>(p.top_p), value);
    if (p.min_p > 0) {
      double best = -1e300;
      for (const auto& a : all) best = std::max(best, a.first);
      std::erase_if(all, [&](const auto& a) {
        const double ratio = std::exp(a.first - best) / static_cast<double>(p.min_p);
        if (std::abs(ratio - 1) < 1e-5) doubtful = true;
        return ratio < 1;
      });
    }
    std::map<TokenId, double> out;
    const double z = total(all);
    for (const auto& [x, t] : all) out[t] = std::exp(x) / z;
    return out;
  }

  static double total(const std::vector<std::pair<double, TokenId>>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0,
                           [](double s, const auto& a) { return s + std::exp(a.first); });
  }
};

TEST(Sampler, EveryCombinationOfFiltersKeepsWhatTheNaiveReferenceKeeps) {
  constexpr std::uint64_t kSeed = 20261129;
  SCOPED_TRACE(kSeed);
  int compared = 0;
  int doubtful = 0;
  for (std::uint64_t round = 0; round < 6000; ++round) {
    SCOPED_TRACE(round);
    Dice dice{kSeed + round};
    const auto vocabulary =
        static_cast<std::int32_t>(round % 50 == 0 ? 5000 + dice.below(9000) : 1 + dice.below(300));
    const auto logits = random_logits(dice, static_cast<std::size_t>(vocabulary));
    const auto params = random_params(dice, vocabulary);
    const auto history = random_history(dice, vocabulary);
    SamplerWorkspace workspace(vocabulary);
    const auto sampler = sampler_for(params, history, vocabulary);
    Reference reference{params, history};
    const auto want = reference.distribution(logits);
    if (reference.doubtful) {
      ++doubtful;
      continue;
    }
    ++compared;
    std::map<TokenId, double> got;
    for (const auto& [token, p] : sampler.distribution({logits}, workspace)) {
      ASSERT_TRUE(got.emplace(token, p).second) << "token " << token << " twice";
    }
    // Penalties and bias in floats move a logit near 1000 by up to 6e-5.
    for (const auto& [token, p] : want) {
      if (p < 1e-30) continue;  // Below the smallest float weight.
      ASSERT_TRUE(got.contains(token))
          << "token " << token << " with probability " << p << " is missing";
      ASSERT_NEAR(got[token] / p, 1, 2e-3) << "token " << token;
    }
    for (const auto& [token, p] : got)
      ASSERT_TRUE(want.contains(token)) << "token " << token << " should be cut";
    const auto drawn = sampler.sample({logits}, round, workspace);
    ASSERT_TRUE(drawn.has_value());
    ASSERT_TRUE(want.contains(*drawn));
  }
  EXPECT_GT(compared, 5000) << doubtful << " cases had a cut within rounding";
}

/// Chi-square of `draws` draws against the reference, pooled so that each bin expects at least 5.
/// Returns (statistic - bins) / sqrt(2 bins): about standard normal when the draws are right.
double chi_square(const SamplingParams& params, const std::vector<float>& logits, int draws,
                  std::uint64_t seed) {
  const auto vocabulary = static_cast<std::int32_t>(logits.size());
  SamplerWorkspace workspace(vocabulary);
  Sampler sampler(params, seed, vocabulary, 0);
  std::map<TokenId, int> counts;
  for (int i = 0; i < draws; ++i)
    ++counts[*sampler.sample({logits}, static_cast<std::uint64_t>(i), workspace)];
  Reference reference{params, {}};
  double statistic = 0;
  int bins = 0;
  double pooled_want = 0;
  double pooled_got = 0;
  for (const auto& [token, p] : reference.distribution(logits)) {
    const double want = p * draws;
    const double got = counts[token];
    if (want < 5) {
      pooled_want += want;
      pooled_got += got;
      continue;
    }
    statistic += (got - want) * (got - want) / want;
    ++bins;
  }
  if (pooled_want >= 5) {
    statistic += (pooled_got - pooled_want) * (pooled_got - pooled_want) / pooled_want;
    ++bins;
  }
  return bins < 2 ? 0 : (statistic - (bins - 1)) / std::sqrt(2.0 * (bins - 1));
}

TEST(Sampler, DrawsFollowTheDistribution) {
  Dice dice{77};
  for (std::uint64_t round = 0; round < 24; ++round) {
    SCOPED_TRACE(round);
    const auto logits = random_logits(dice, round % 4 == 0 ? 3000 : 200);
    auto params = random_params(dice, static_cast<std::int32_t>(logits.size()));
    params.repetition_penalty = 1;
    params.presence_penalty = params.frequency_penalty = 0;
    EXPECT_LT(chi_square(params, logits, 10000, round), 5.0);
  }
}

TEST(Sampler, AnswersToTheSameSeedAndPositionAgreeAndOthersVary) {
  Dice dice{5};
  const auto logits = random_logits(dice, 500);
  SamplingParams params;
  params.top_p = 0.9F;
  SamplerWorkspace workspace(500);
  const auto answer = [&](std::uint64_t seed) {
    Sampler s(params, seed, 500, 0);
    std::vector<TokenId> out;
    for (std::uint64_t i = 0; i < 64; ++i) out.push_back(*s.sample({logits}, i, workspace));
    return out;
  };
  EXPECT_EQ(answer(42), answer(42));
  EXPECT_NE(answer(42), answer(43));
}

TEST(Sampler, TheWorkspaceRemembersNothing) {
  Dice dice{6};
  SamplerWorkspace used(400);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto logits = random_logits(dice, 400);
    const auto params = random_params(dice, 400);
    SamplerWorkspace fresh(400);
    const Sampler s(params, i, 400, 0);
    ASSERT_EQ(s.sample({logits}, i, used), s.sample({logits}, i, fresh)) << i;
  }
}

TEST(Sampler, GreedyTakesTheLowestOfEqualBest) {
  std::vector<float> logits(3000, 0.0F);
  logits[17] = logits[1025] = logits[2999] = 4.0F;
  SamplerWorkspace workspace(3000);
  SamplingParams params;
  for (float temperature : {0.0F, 1e-6F}) {
    params.temperature = temperature;
    EXPECT_EQ(Sampler(params, 1, 3000, 0).sample({logits}, 0, workspace), 17);
  }
  params.temperature = 1.0F;
  params.top_k = 1;
  EXPECT_EQ(Sampler(params, 1, 3000, 0).sample({logits}, 0, workspace), 17);
}

TEST(Sampler, LogitsThatAreNotNumbersFailTheChoice) {
  SamplerWorkspace workspace(100);
  for (float temperature : {0.0F, 1.0F}) {
    SamplingParams params;
    params.temperature = temperature;
    const Sampler sampler(params, 1, 100, 0);
    for (std::size_t at : {std::size_t{0}, std::size_t{50}, std::size_t{99}}) {
      std::vector<float> logits(100, 1.0F);
      logits[at] = std::nanf("");
      EXPECT_FALSE(sampler.sample({logits}, 0, workspace).has_value());
      logits[at] = kInf;
      EXPECT_FALSE(sampler.sample({logits}, 0, workspace).has_value());
    }
    const std::vector<float> none(100, -kInf);
    EXPECT_FALSE(sampler.sample({none}, 0, workspace).has_value());
  }
}

TEST(Sampler, BannedTokensAreNotChosenAndBanningAllFails) {
  const std::vector<float> logits = {9, 8, 7, 6};
  SamplerWorkspace workspace(4);
  SamplingParams params;
  params.temperature = 0;
  const Sampler greedy(params, 1, 4, 0);
  EXPECT_EQ(greedy.sample({logits}, 0, workspace, std::vector<TokenId>{0, 1}), 2);
  EXPECT_FALSE(greedy.sample({logits}, 0, workspace, std::vector<TokenId>{0, 1, 2, 3}).has_value());
}

TEST(Sampler, RepetitionDividesPositiveAndMultipliesNegativeLogits) {
  const std::vector<float> logits = {4.0F, 3.0F, -1.0F, -1.5F};
  SamplerWorkspace workspace(4);
  SamplingParams params;
  params.repetition_penalty = 2.0F;
  auto s = sampler_for(params, {{0, 2}, {}}, 4);
  const auto got = s.distribution({logits}, workspace);
  // Logits become 2, 3, -2, -1.5.
  EXPECT_NEAR(got[0].second / got[1].second, std::exp(-1.0), 1e-5);
  EXPECT_NEAR(got[2].second / got[1].second, std::exp(-5.0), 1e-5);
}

TEST(Sampler, TheWorkspaceTakesWhatIsPlanned) {
  for (const std::int32_t vocabulary : {1, 255, 1025, 49152, 262144}) {
    const SamplerWorkspace workspace(vocabulary);
    EXPECT_EQ(workspace.bytes(), SamplerWorkspace::planned_bytes(vocabulary));
  }
}

TEST(Sampler, AllocatesNothingPerToken) {
  Dice dice{8};
  const std::size_t vocabulary = 5000;
  SamplerWorkspace workspace(5000);
  for (std::uint64_t round = 0; round < 50; ++round) {
    const auto logits = random_logits(dice, vocabulary);
    const auto params = random_params(dice, 5000);
    Sampler sampler(params, round, 5000, 64);
    const std::vector<TokenId> prompt = {1, 2, 3};
    const std::vector<TokenId> banned = {7};
    const std::size_t before = allocations_of_this_thread();
    sampler.saw_prompt(prompt);
    for (std::uint64_t i = 0; i < 32; ++i) {
      const auto token = sampler.sample({logits}, i, workspace, banned);
      if (token) sampler.saw_answer(*token);
    }
    EXPECT_EQ(allocations_of_this_thread(), before);
  }
}

TEST(Logprobs, AreThoseOfTheRawLogitsWithTheBestFirst) {
  Dice dice{9};
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const std::size_t vocabulary = 1 + dice.below(3000);
    const auto logits = random_logits(dice, vocabulary);
    SamplerWorkspace workspace(static_cast<std::int32_t>(vocabulary));
    const auto chosen = static_cast<TokenId>(dice.below(static_cast<std::uint32_t>(vocabulary)));
    const auto got = logprobs({logits}, chosen, 20, workspace);
    double max = -1e300;
    for (float l : logits) max = std::max(max, static_cast<double>(l));
    double sum = 0;
    for (float l : logits) sum += std::exp(static_cast<double>(l) - max);
    const double log_sum = max + std::log(sum);
    if (std::isfinite(logits[static_cast<std::size_t>(chosen)])) {
      EXPECT_NEAR(got.chosen,
                  static_cast<double>(logits[static_cast<std::size_t>(chosen)]) - log_sum, 1e-4);
    } else {
      EXPECT_EQ(got.chosen, -kInf);
    }
    std::vector<TokenId> order;
    for (std::size_t i = 0; i < vocabulary; ++i) {
      if (std::isfinite(logits[i])) order.push_back(static_cast<TokenId>(i));
    }
    std::sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
      const float x = logits[static_cast<std::size_t>(a)];
      const float y = logits[static_cast<std::size_t>(b)];
      return x != y ? x > y : a < b;
    });
    order.resize(std::min<std::size_t>(order.size(), 20));
    ASSERT_EQ(got.top.size(), order.size());
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(got.top[i].token, order[i]);
  }
}

}  // namespace
}  // namespace weir::model
