#pragma once

/// Who is served next among the waiting: priority class first; in a class whoever was pre-empted;
/// then whoever would miss the deadline by waiting and can still make it, least slack first; then
/// the tenant with the least weighted service (policy/fair_share.h); then arrival.
///
/// Nobody starves: one of every `overdue_every` turns goes, by arrival, to the overdue, who have
/// waited longer than `overdue_after` in whatever class. With m overdue before it a request waits
/// at most overdue_after and overdue_every * (m + 1) turns. All turns would be first come, first
/// served as soon as the queue is that old: one tenant's backlog would push aside every other
/// tenant, and background work the critical. Thread safety: pure functions.

#include <cstdint>
#include <optional>

#include "weir/policy/fair_share.h"
#include "weir/spec/priority.h"
#include "weir/spec/time.h"

namespace weir::policy {

struct Waiting {
  std::uint64_t arrival_number = 0;
  Instant arrived{};
  Priority priority = Priority::kStandard;
  bool was_running =
      false;  ///< Pre-empted: back before others of its class, for its work is half done.
  TenantId tenant{};
  std::optional<Instant> deadline;
  Duration expected_service{};
};

struct OrderOptions {
  Duration overdue_after = std::chrono::seconds(30);
  std::uint32_t overdue_every = 4;  ///< At least 1.
  Duration urgent_slack =
      std::chrono::seconds(1);  ///< Slack under which a deadline overrides fairness.
};

/// Whether turn number `turn` goes to the overdue, if there are any.
[[nodiscard]] constexpr bool is_for_overdue(std::uint64_t turn, const OrderOptions& options) {
  return turn % options.overdue_every == 0;
}

/// Whether `a` is served before `b` in turn number `turn`. A strict order for fixed `turn`, `now`
/// and `shares`.
[[nodiscard]] bool before(const Waiting& a, const Waiting& b, std::uint64_t turn, Instant now,
                          const FairShare& shares, const OrderOptions& options);

}  // namespace weir::policy
