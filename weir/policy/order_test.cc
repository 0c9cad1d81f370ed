#include "weir/policy/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "weir/base/random.h"

namespace weir::policy {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = 100s;
constexpr OrderOptions kOptions{30s, 4, 1s};
constexpr std::uint64_t kAnyTurn = 1;
constexpr std::uint64_t kTurnOfTheOverdue = 8;

/// A standard request of tenant 0 that came a second ago.
Waiting waiting(std::uint64_t number) {
  return {number, 99s, Priority::kStandard, false, {}, {}, {}};
}

class Order : public testing::Test {
 protected:
  /// Says so both ways round, so that a tie cannot pass.
  void expect_first(const Waiting& a, const Waiting& b, std::uint64_t turn = kAnyTurn) const {
    EXPECT_TRUE(before(a, b, turn, kNow, shares_, kOptions));
    EXPECT_FALSE(before(b, a, turn, kNow, shares_, kOptions));
  }
  FairShare shares_;
};

TEST_F(Order, EqualsGoByArrival) { expect_first(waiting(1), waiting(2)); }

TEST_F(Order, TheHigherClassGoesFirst) {
  Waiting critical = waiting(2);
  critical.priority = Priority::kCritical;
  expect_first(critical, waiting(1));
}

TEST_F(Order, InTheirTurnTheOverdueGoBeforeEveryClassAndAmongThemselvesByArrival) {
  Waiting old = waiting(1);
  old.arrived = kNow - 31s;
  old.priority = Priority::kBackground;
  Waiting critical = waiting(2);
  critical.priority = Priority::kCritical;
  expect_first(old, critical, kTurnOfTheOverdue);
  expect_first(critical, old, kAnyTurn);
  Waiting old_critical = critical;
  old_critical.arrived = kNow - 31s;
  expect_first(old, old_critical, kTurnOfTheOverdue);
  old.arrived = kNow - 30s;  // Just not.
  expect_first(critical, old, kTurnOfTheOverdue);
}

TEST_F(Order, WhoWasPreemptedComesBackBeforeOthersOfItsClassOnly) {
  Waiting preempted = waiting(2);
  preempted.was_running = true;
  expect_first(preempted, waiting(1));
  Waiting critical = waiting(3);
  critical.priority = Priority::kCritical;
  expect_first(critical, preempted);
}

TEST_F(Order, WhoWouldMissTheDeadlineByWaitingGoesFirstLeastSlackFirst) {
  Waiting urgent = waiting(3);
  urgent.deadline = kNow + 10s;
  urgent.expected_service = 9500ms;
  expect_first(urgent, waiting(1));
  Waiting tighter = urgent;
  tighter.arrival_number = 4;
  tighter.expected_service = 9900ms;
  expect_first(tighter, urgent);
  urgent.expected_service = 9s;  // A second to spare is no hurry.
  expect_first(waiting(1), urgent);
}

TEST_F(Order, WhoCannotMakeItAnyMoreGoesBeforeNobody) {
  Waiting late = waiting(2);
  late.deadline = kNow + 1s;
  late.expected_service = 2s;
  expect_first(waiting(1), late);
}

TEST_F(Order, ADeadlineNeverIsNoHurry) {
  Waiting never = waiting(2);
  never.deadline = Instant::max();
  expect_first(waiting(1), never);
}

TEST_F(Order, TheTenantWithTheLeastServiceGoesFirst) {
  shares_.arrived(TenantId{0});
  shares_.arrived(TenantId{1});
  shares_.charge(TenantId{0}, 10);
  Waiting other = waiting(2);
  other.tenant = TenantId{1};
  expect_first(other, waiting(1));
}

TEST_F(Order, IsAStrictOrderOfAnyRequests) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    FairShare shares;
    for (std::uint32_t t = 0; t < 3; ++t) {
      shares.arrived(TenantId{t});
      shares.charge(TenantId{t}, philox(seed, t)[0] % 3);
    }
    std::vector<Waiting> all;
    for (std::uint64_t i = 0; i < 40; ++i) {
      const auto r = philox(seed, i, 1);
      Waiting w = waiting(i);
      w.arrived = kNow - (r[0] % 5 == 0 ? 40s : 1s);
      w.priority = static_cast<Priority>(r[0] / 8 % 3);
      w.was_running = r[0] / 32 % 4 == 0;
      w.tenant = TenantId{r[1] % 3};
      if (r[2] % 2 == 0) w.deadline = kNow + std::chrono::milliseconds(r[2] / 2 % 4000) - 1s;
      w.expected_service = std::chrono::milliseconds(r[3] % 1000);
      all.push_back(w);
    }
    const auto first = [&](const Waiting& a, const Waiting& b) {
      return before(a, b, seed, kNow, shares, kOptions);
    };
    for (const Waiting& a : all) {
      ASSERT_FALSE(first(a, a));
      for (const Waiting& b : all) {
        if (&a == &b) continue;
        ASSERT_NE(first(a, b), first(b, a));
        for (const Waiting& c : all) ASSERT_FALSE(first(a, b) && first(b, c) && !first(a, c));
      }
    }
  }
}

}  // namespace
}  // namespace weir::policy
