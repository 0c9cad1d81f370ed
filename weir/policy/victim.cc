#include "weir/policy/victim.h"

#include <tuple>

namespace weir::policy {

std::optional<Victim> choose_victim(std::span<const Candidate> candidates, Priority needy,
                                    std::uint64_t needy_arrival, Instant now,
                                    const PreemptionCosts& costs, const VictimOptions& options) {
  using Rank = std::tuple<bool, Priority, bool, std::int64_t, std::uint64_t>;
  std::optional<Victim> best;
  Rank best_rank;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    if (c.units_gained == 0 || c.priority > needy) continue;
    if (c.priority == needy && c.arrival_number <= needy_arrival) continue;
    const double recompute = c.tokens * costs.recompute_seconds_per_token;
    const double offload = c.tokens * costs.offload_seconds_per_token;
    const bool moves = costs.offload_seconds_per_token > 0 && offload < recompute;
    const Duration cost = from_seconds(moves ? offload : recompute);
    const bool loses_deadline = c.deadline && now + c.remaining_service + cost > *c.deadline;
    // The later of equals goes: it has the least to lose in the queue.
    const Rank rank{c.preemptions >= options.max_preemptions, c.priority, loses_deadline,
                    cost.count(), ~c.arrival_number};
    if (!best || rank < best_rank) {
      best = Victim{i, moves ? PreemptionWay::kOffload : PreemptionWay::kRecompute, cost};
      best_rank = rank;
    }
  }
  return best;
}

}  // namespace weir::policy
