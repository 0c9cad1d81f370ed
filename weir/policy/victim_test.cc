#include "weir/policy/victim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "weir/base/random.h"

namespace weir::policy {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = 100s;
constexpr PreemptionCosts kRecomputeOnly{0.001, 0};
constexpr std::uint64_t kOldest = 0;

Candidate candidate(std::uint64_t number, std::uint32_t tokens) {
  return {number, Priority::kStandard, tokens, 1, 0, {}, {}};
}

std::optional<Victim> choose(const std::vector<Candidate>& candidates,
                             const PreemptionCosts& costs = kRecomputeOnly,
                             Priority needy = Priority::kStandard,
                             std::uint64_t arrival = kOldest) {
  return choose_victim(candidates, needy, arrival, kNow, costs, {});
}

TEST(Victim, IsTheCheapestAndOfEqualsTheLatest) {
  const auto victim = choose({candidate(1, 300), candidate(2, 100), candidate(3, 100)});
  ASSERT_TRUE(victim);
  EXPECT_EQ(victim->which, 2U);
  EXPECT_EQ(victim->cost, 100ms);
  EXPECT_EQ(victim->way, PreemptionWay::kRecompute);
}

TEST(Victim, IsOfTheLowestClassWhateverItCosts) {
  Candidate background = candidate(1, 9000);
  background.priority = Priority::kBackground;
  EXPECT_EQ(choose({candidate(2, 1), background})->which, 1U);
}

TEST(Victim, IsNeverOfAHigherClassNorAnEarlierArrivalOfTheSame) {
  Candidate critical = candidate(9, 1);
  critical.priority = Priority::kCritical;
  EXPECT_FALSE(choose({critical}));
  EXPECT_FALSE(choose({candidate(4, 1), candidate(5, 1)}, kRecomputeOnly, Priority::kStandard, 5));
  EXPECT_TRUE(choose({candidate(6, 1)}, kRecomputeOnly, Priority::kStandard, 5));
}

TEST(Victim, IsNobodyWhoGivesNoPage) {
  Candidate shares_all = candidate(1, 1);
  shares_all.units_gained = 0;
  EXPECT_FALSE(choose({shares_all}));
  EXPECT_FALSE(choose({}));
}

TEST(Victim, IsNotOneWhoseDeadlineWouldBeLost) {
  Candidate tight = candidate(1, 10);
  tight.deadline = kNow + 1s;
  tight.remaining_service = 995ms;  // And 10 ms to compute again.
  EXPECT_EQ(choose({tight, candidate(2, 500)})->which, 1U);
  tight.remaining_service = 990ms;
  EXPECT_EQ(choose({tight, candidate(2, 500)})->which, 0U);
}

TEST(Victim, WhoSufferedEnoughIsLeftAloneWhileOthersCanBeTaken) {
  Candidate suffered = candidate(1, 10);
  suffered.preemptions = 3;
  EXPECT_EQ(choose({suffered, candidate(2, 5000)})->which, 1U);
  EXPECT_EQ(choose({suffered})->which, 0U);
}

TEST(Victim, IsOffloadedWhenThatIsCheaper) {
  const auto moved = choose({candidate(1, 100)}, {0.001, 0.0002});
  EXPECT_EQ(moved->way, PreemptionWay::kOffload);
  EXPECT_EQ(moved->cost, 20ms);
  EXPECT_EQ(choose({candidate(1, 100)}, {0.001, 0.002})->way, PreemptionWay::kRecompute);
}

TEST(Victim, OfRandomCandidatesTheBestAllowedOneIsChosen) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::vector<Candidate> all;
    for (std::uint64_t i = 0; i < seed % 12; ++i) {
      const auto r = philox(seed, i);
      Candidate c = candidate(i, r[0] % 4 * 100);
      c.priority = static_cast<Priority>(r[1] % 3);
      c.units_gained = r[1] / 4 % 4;
      c.preemptions = r[1] / 16 % 5;
      if (r[2] % 2 == 0) c.deadline = kNow + std::chrono::milliseconds(r[2] / 2 % 600);
      c.remaining_service = std::chrono::milliseconds(r[3] % 400);
      all.push_back(c);
    }
    const auto needy = static_cast<Priority>(seed / 12 % 3);
    const std::uint64_t arrival = seed / 36 % 12;
    const PreemptionCosts costs{0.001, seed % 2 == 0 ? 0 : 0.0005};
    const auto victim = choose(all, costs, needy, arrival);

    const auto allowed = [&](const Candidate& c) {
      return c.units_gained > 0 &&
             (c.priority < needy || (c.priority == needy && c.arrival_number > arrival));
    };
    const double per_token = seed % 2 == 0 ? 0.001 : 0.0005;
    const auto loses = [&](const Candidate& c) {
      return c.deadline &&
             kNow + c.remaining_service + from_seconds(c.tokens * per_token) > *c.deadline;
    };
    /// Whether `a` is the better victim, rule by rule.
    const auto better = [&](const Candidate& a, const Candidate& b) {
      if ((a.preemptions >= 3) != (b.preemptions >= 3)) return a.preemptions < 3;
      if (a.priority != b.priority) return a.priority < b.priority;
      if (loses(a) != loses(b)) return !loses(a);
      if (a.tokens != b.tokens) return a.tokens < b.tokens;
      return a.arrival_number > b.arrival_number;
    };
    if (!victim) {
      ASSERT_TRUE(std::none_of(all.begin(), all.end(), allowed));
      continue;
    }
    ASSERT_TRUE(allowed(all[victim->which]));
    for (const Candidate& c : all) ASSERT_FALSE(allowed(c) && better(c, all[victim->which]));
  }
}

}  // namespace
}  // namespace weir::policy
