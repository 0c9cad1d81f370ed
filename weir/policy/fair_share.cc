#include "weir/policy/fair_share.h"

#include <algorithm>
#include <limits>

#include "weir/base/check.h"

namespace weir::policy {

void FairShare::set_weight(TenantId tenant, double weight) {
  WEIR_CHECK(weight > 0, "a tenant's weight is positive");
  weights_[tenant] = weight;
}

double FairShare::weight(TenantId tenant) const {
  const auto it = weights_.find(tenant);
  return it == weights_.end() ? 1 : it->second;
}

void FairShare::raise_floor() {
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [id, account] : accounts_) {
    if (account.requests > 0) least = std::min(least, account.counter);
  }
  if (least != std::numeric_limits<double>::infinity()) floor_ = least;
}

void FairShare::arrived(TenantId tenant) {
  raise_floor();
  Account& account = accounts_[tenant];
  if (account.requests++ == 0) account.counter = std::max(account.counter, floor_);
  // Forget who is idle and owes nothing, so that tenants that come once do not pile up.
  std::erase_if(accounts_, [this](const auto& entry) {
    return entry.second.requests == 0 && entry.second.counter <= floor_;
  });
}

void FairShare::left(TenantId tenant) {
  Account& account = accounts_[tenant];
  WEIR_CHECK(account.requests > 0, "a request that left had arrived");
  if (account.requests == 1) raise_floor();  // While it still counts: it may be the last.
  --account.requests;
}

void FairShare::charge(TenantId tenant, std::uint64_t tokens) {
  accounts_[tenant].counter += static_cast<double>(tokens) / weight(tenant);
}

double FairShare::counter(TenantId tenant) const {
  const auto it = accounts_.find(tenant);
  return it == accounts_.end() ? floor_ : it->second.counter;
}

}  // namespace weir::policy
