#pragma once

/// Weighted fair queueing in tokens: each tenant's virtual counter grows by the tokens computed for
/// it over its weight, and the smallest counter is served next (Virtual Token Counter; Sheng et
/// al., "Fairness in Serving Large Language Models", OSDI 2024, algorithm 2). A tenant that was
/// idle starts at the least active counter, so idleness earns no credit. Between tenants that stay
/// backlogged, service differs by at most the tokens in flight of one. Thread safety: none; one
/// owner.

#include <cstdint>
#include <unordered_map>

namespace weir::policy {

enum class TenantId : std::uint32_t {};

class FairShare {
 public:
  /// REQUIRES: weight > 0. The default is 1.
  void set_weight(TenantId tenant, double weight);

  /// A request of the tenant came, or left; a tenant is active while it has any.
  void arrived(TenantId tenant);
  void left(TenantId tenant);

  /// `tokens` were computed for the tenant.
  void charge(TenantId tenant, std::uint64_t tokens);

  /// Smaller is served first.
  [[nodiscard]] double counter(TenantId tenant) const;

 private:
  struct Account {
    double counter = 0;
    std::uint32_t requests = 0;
  };
  [[nodiscard]] double weight(TenantId tenant) const;
  void raise_floor();
  std::unordered_map<TenantId, Account>
      accounts_;                                  ///< Active, or idle with a debt above the floor.
  std::unordered_map<TenantId, double> weights_;  ///< Those that are not 1.
  double floor_ =
      0;  ///< The last known least active counter; where a tenant starts when all are idle.
};

}  // namespace weir::policy
