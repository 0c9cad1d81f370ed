#include "weir/policy/order.h"

#include <limits>

namespace weir::policy {
namespace {

/// Time to spare before the deadline can no longer be met; the largest number when there is no
/// hurry.
std::int64_t urgency(const Waiting& w, Instant now, const OrderOptions& options) {
  constexpr auto kNoHurry = std::numeric_limits<std::int64_t>::max();
  if (!w.deadline) return kNoHurry;
  const Duration slack = *w.deadline - now - w.expected_service;
  // Whoever cannot make it any more would only make others late as well.
  return slack.count() >= 0 && slack < options.urgent_slack ? slack.count() : kNoHurry;
}

}  // namespace

bool before(const Waiting& a, const Waiting& b, std::uint64_t turn, Instant now,
            const FairShare& shares, const OrderOptions& options) {
  if (is_for_overdue(turn, options)) {
    const bool a_overdue = now - a.arrived > options.overdue_after;
    const bool b_overdue = now - b.arrived > options.overdue_after;
    if (a_overdue != b_overdue) return a_overdue;
    if (a_overdue) return a.arrival_number < b.arrival_number;
  }
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.was_running != b.was_running) return a.was_running;
  const auto a_urgency = urgency(a, now, options);
  const auto b_urgency = urgency(b, now, options);
  if (a_urgency != b_urgency) return a_urgency < b_urgency;
  const double a_counter = shares.counter(a.tenant);
  const double b_counter = shares.counter(b.tenant);
  if (a_counter != b_counter) return a_counter < b_counter;
  return a.arrival_number < b.arrival_number;
}

}  // namespace weir::policy
