#pragma once

/// Whom to pre-empt when pages run out, and how: the three ways out cost differently. Keeping it
/// means that the one in need waits; recomputing costs the prefill of what it has; offloading costs
/// two transfers (when there is a tier to offload to). The victim is the cheapest of the lowest
/// class, unless its deadline would be lost by it. Thread safety: pure functions.

#include <cstdint>
#include <optional>
#include <span>

#include "weir/policy/order.h"
#include "weir/spec/time.h"

namespace weir::policy {

struct Candidate {
  std::uint64_t arrival_number = 0;
  Priority priority = Priority::kStandard;
  std::uint32_t tokens = 0;        ///< Computed positions that would be lost or moved.
  std::uint32_t units_gained = 0;  ///< Of KV, that it alone holds; 0 is no help.
  std::uint32_t preemptions = 0;   ///< Suffered so far.
  std::optional<Instant> deadline;
  Duration remaining_service{};
};

struct PreemptionCosts {
  double recompute_seconds_per_token = 0;
  double offload_seconds_per_token = 0;  ///< Out and back; 0: there is no tier below.
};

struct VictimOptions {
  std::uint32_t max_preemptions =
      3;  ///< Whoever suffered so many is left alone while others can be taken.
};

enum class PreemptionWay : std::uint8_t { kRecompute, kOffload };

struct Victim {
  std::size_t which = 0;  ///< Index into the candidates.
  PreemptionWay way = PreemptionWay::kRecompute;
  Duration cost{};
};

/// The victim for one of class `needy` that arrived as number `needy_arrival`: never of a higher
/// class, and in its own class only those that arrived later. So the oldest of the highest class is
/// nobody's victim, and somebody always advances (no livelock). Nothing: the needy one has to wait.
[[nodiscard]] std::optional<Victim> choose_victim(std::span<const Candidate> candidates,
                                                  Priority needy, std::uint64_t needy_arrival,
                                                  Instant now, const PreemptionCosts& costs,
                                                  const VictimOptions& options);

}  // namespace weir::policy
