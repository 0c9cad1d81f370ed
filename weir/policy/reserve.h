#pragma once

/// Capacity kept for the urgent: a share of something countable (running sequences, KV pages) that
/// only one class and those above it may use. With R(c) the shares of all classes above c together,
/// rounded up, the classes up to c may together have total - R(c), however much or little of R(c)
/// the classes above have at the moment.
/// Thread safety: pure functions.

#include <array>
#include <cstdint>
#include <optional>

#include "weir/spec/priority.h"

namespace weir::policy {

struct Reserve {
  /// Percent of the total for each class and those above it. The lowest has none of its own: what
  /// it may use, everyone may.
  std::array<std::uint32_t, kPriorities> percent{};

  [[nodiscard]] bool empty() const { return percent[1] == 0 && percent[2] == 0; }
};

/// R(p): of `total`, what `p` and the classes below it leave alone. Never all of it, so that
/// nobody is shut out by rounding.
[[nodiscard]] std::uint32_t set_aside(const Reserve& reserve, Priority p, std::uint32_t total);

/// The smallest total of which `p` may have `wanted`. REQUIRES: the shares above `p` are under 100
/// %.
[[nodiscard]] std::uint64_t total_that_leaves(const Reserve& reserve, Priority p,
                                              std::uint32_t wanted);

/// How something is used.
struct Usage {
  std::uint32_t total = 0;
  std::int64_t free = 0;  ///< Neither used nor promised; negative when too much is promised.
  /// Used or promised to this class and those above; [0] is to anyone.
  std::array<std::uint64_t, kPriorities> from{};
};

/// The lowest class c, not below `p`, whose bound one more of class `p` that takes `wanted` would
/// break: room comes only from those up to c. Nothing: the reserve does not stand in its way.
[[nodiscard]] std::optional<Priority> bound_met(const Reserve& reserve, Priority p,
                                                std::uint64_t wanted, const Usage& usage);

/// Whether one of a class above `waiting` that takes `wanted` keeps to what `waiting` may not have
/// anyway, and so may overtake it without making it wait longer.
[[nodiscard]] bool takes_nothing_from(const Reserve& reserve, Priority waiting,
                                      std::uint64_t wanted, const Usage& usage);

}  // namespace weir::policy
