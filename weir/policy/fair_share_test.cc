#include "weir/policy/fair_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "weir/base/random.h"

namespace weir::policy {
namespace {

constexpr TenantId kA{1};
constexpr TenantId kB{2};
constexpr TenantId kC{3};

TEST(FairShare, TheHeavierTenantIsChargedLess) {
  FairShare shares;
  shares.set_weight(kB, 4);
  shares.arrived(kA);
  shares.arrived(kB);
  shares.charge(kA, 100);
  shares.charge(kB, 100);
  EXPECT_DOUBLE_EQ(shares.counter(kA), 100);
  EXPECT_DOUBLE_EQ(shares.counter(kB), 25);
}

TEST(FairShare, IdlenessEarnsNoCredit) {
  FairShare shares;
  shares.arrived(kA);
  shares.arrived(kB);
  shares.charge(kA, 1000);
  shares.charge(kB, 700);
  shares.arrived(kC);  // Was never here: starts beside the least active.
  EXPECT_DOUBLE_EQ(shares.counter(kC), 700);
}

TEST(FairShare, LeavingAndComingBackForgivesNoDebt) {
  FairShare shares;
  shares.arrived(kA);
  shares.arrived(kB);
  shares.charge(kA, 1000);
  shares.left(kA);
  shares.arrived(kA);
  EXPECT_DOUBLE_EQ(shares.counter(kA), 1000);
  EXPECT_DOUBLE_EQ(shares.counter(kB), 0);
}

TEST(FairShare, WhenAllWereIdleANewTenantStartsWhereTheLastOneLeft) {
  FairShare shares;
  shares.arrived(kA);
  shares.arrived(kB);
  shares.charge(kA, 1000);
  shares.charge(kB, 60);
  shares.left(kA);
  shares.left(kB);
  shares.arrived(kC);
  EXPECT_DOUBLE_EQ(shares.counter(kC), 60);
  shares.arrived(kA);
  EXPECT_DOUBLE_EQ(shares.counter(kA), 1000);  // And who had more still owes it.
}

TEST(FairShare, RequestsOfOneTenantKeepItActiveUntilTheLastLeft) {
  FairShare shares;
  shares.arrived(kA);
  shares.arrived(kA);
  shares.left(kA);
  shares.charge(kA, 10);
  shares.arrived(kB);
  EXPECT_DOUBLE_EQ(shares.counter(kB), 10);  // A was the least active.
}

/// Algorithm 2 of the paper to the letter: every counter is kept for ever.
class NaiveShares {
 public:
  explicit NaiveShares(std::map<TenantId, double> weights) : weights_(std::move(weights)) {}
  void arrived(TenantId t) {
    if (requests_[t]++ > 0) return;
    const auto least = least_active(t);
    counters_[t] = std::max(counters_[t], least ? *least : last_left_);
  }
  void left(TenantId t) {
    if (--requests_[t] == 0) last_left_ = counters_[t];
  }
  void charge(TenantId t, std::uint64_t tokens) {
    counters_[t] += static_cast<double>(tokens) / weights_.at(t);
  }
  double counter(TenantId t) { return counters_[t]; }
  bool is_active(TenantId t) { return requests_[t] > 0; }

 private:
  std::optional<double> least_active(TenantId but) {
    std::optional<double> least;
    for (const auto& [t, n] : requests_)
      if (n > 0 && t != but && (!least || counters_[t] < *least)) least = counters_[t];
    return least;
  }
  std::map<TenantId, double> weights_;
  std::map<TenantId, double> counters_;
  std::map<TenantId, int> requests_;
  double last_left_ = 0;
};

TEST(FairShare, AgreesWithThePaperUnderRandomTraffic) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const std::uint32_t tenants = 1 + philox(seed, 0)[0] % 6;
    FairShare shares;
    std::map<TenantId, double> weights;
    for (std::uint32_t t = 0; t < tenants; ++t) {
      weights[TenantId{t}] = 1 + philox(seed, 0, t)[1] % 4;
      shares.set_weight(TenantId{t}, weights[TenantId{t}]);
    }
    NaiveShares naive(weights);
    for (std::uint64_t i = 1; i < 500; ++i) {
      const auto r = philox(seed, i);
      const TenantId t{r[0] % tenants};
      if (r[1] % 3 == 0) {
        shares.arrived(t);
        naive.arrived(t);
      } else if (naive.is_active(t) && r[1] % 3 == 1) {
        shares.left(t);
        naive.left(t);
      } else if (naive.is_active(t)) {
        shares.charge(t, r[2] % 1000);
        naive.charge(t, r[2] % 1000);
      }
      for (std::uint32_t u = 0; u < tenants; ++u) {
        if (naive.is_active(TenantId{u})) {
          ASSERT_DOUBLE_EQ(shares.counter(TenantId{u}), naive.counter(TenantId{u}))
              << "event " << i;
        }
      }
    }
  }
}

TEST(FairShare, BackloggedTenantsGetServiceInProportionToTheirWeights) {
  FairShare shares;
  const std::map<TenantId, double> weights = {{kA, 1}, {kB, 2}, {kC, 5}};
  std::map<TenantId, double> served;
  for (const auto& [t, w] : weights) {
    shares.set_weight(t, w);
    shares.arrived(t);
  }
  constexpr std::uint32_t kLargest = 500;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    TenantId next = kA;
    for (const auto& [t, w] : weights)
      if (shares.counter(t) < shares.counter(next)) next = t;
    const std::uint32_t tokens = 1 + philox(9, i)[0] % kLargest;
    shares.charge(next, tokens);
    served[next] += tokens;
    // The paper's bound: two backlogged tenants differ by at most one piece of service each.
    for (const auto& [t, w] : weights)
      for (const auto& [u, x] : weights) ASSERT_LE(served[t] / w - served[u] / x, kLargest);
  }
}

}  // namespace
}  // namespace weir::policy
