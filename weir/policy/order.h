#pragma once

/// Who is served next among the waiting. First the overdue, by arrival: whoever has waited longer
/// than `overdue_after` goes before all who have not, so no request waits longer than that plus the
/// service of those that came before it (no starvation). Then priority class; in a class whoever
/// was pre-empted; then whoever would miss the deadline by waiting, least slack first; then the
/// tenant with the least weighted service (policy/fair_share.h); then arrival. Thread safety: pure
/// functions.

#include <cstdint>
#include <optional>

#include "weir/policy/fair_share.h"
#include "weir/spec/time.h"

namespace weir::policy {

enum class Priority : std::uint8_t { kBackground, kStandard, kCritical };

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
  Duration urgent_slack =
      std::chrono::seconds(1);  ///< Slack under which a deadline overrides fairness.
};

/// Whether `a` is served before `b`. A strict order for fixed `now` and `shares`.
[[nodiscard]] bool before(const Waiting& a, const Waiting& b, Instant now, const FairShare& shares,
                          const OrderOptions& options);

}  // namespace weir::policy
