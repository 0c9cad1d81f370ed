#include "weir/policy/two_choices.h"

#include <algorithm>

#include "weir/base/check.h"
#include "weir/base/random.h"

namespace weir::policy {

bool prefer(const ReplicaLoad& a, const ReplicaLoad& b) {
  const double load_a = a.work / a.capacity;
  const double load_b = b.work / b.capacity;
  if (load_a != load_b) return load_a < load_b;
  return a.affinity > b.affinity;
}

std::size_t two_choices(std::span<const ReplicaLoad> replicas, std::uint64_t seed,
                        std::uint64_t draw) {
  WEIR_CHECK(!replicas.empty(), "there is a replica to choose");
  const std::size_t n = replicas.size();
  const auto first = static_cast<std::size_t>(uniform(seed, draw, 0) * static_cast<double>(n));
  if (n == 1) return first;
  // The second is drawn among the others, so that the two always differ.
  auto second = static_cast<std::size_t>(uniform(seed, draw, 1) * static_cast<double>(n - 1));
  if (second >= first) ++second;
  return prefer(replicas[second], replicas[first]) ? second : first;
}

std::size_t one_choice(std::span<const ReplicaLoad> replicas, std::uint64_t seed,
                       std::uint64_t draw) {
  WEIR_CHECK(!replicas.empty(), "there is a replica to choose");
  double total = 0;
  for (const ReplicaLoad& r : replicas) total += r.capacity;
  double at = uniform(seed, draw, 0) * total;
  for (std::size_t i = 0; i + 1 < replicas.size(); ++i) {
    at -= replicas[i].capacity;
    if (at < 0) return i;
  }
  return replicas.size() - 1;
}

double capacity_weight(double capacity, double total_capacity) {
  WEIR_CHECK(capacity >= 0 && total_capacity > 0, "a fleet has capacity");
  return capacity / total_capacity;
}

}  // namespace weir::policy
