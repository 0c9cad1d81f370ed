#pragma once

/// Requests grouped by how long they are expected to be, prompt and answer, with a bound on how
/// many of a group run at once (short, medium, long: a few long ones then cannot take every place).
/// Thread safety: pure functions.

#include <cstdint>
#include <vector>

namespace weir::policy {

struct LengthGroup {
  std::uint32_t most_tokens = 0;   ///< The group's longest,
  std::uint32_t most_running = 0;  ///< and how many of it run together.
};

/// Ascending by most_tokens; what is longer than the last belongs to it. Empty: no groups.
using LengthGroups = std::vector<LengthGroup>;

inline constexpr std::size_t kMaxLengthGroups = 8;

/// REQUIRES: groups is not empty.
[[nodiscard]] std::uint32_t group_of(const LengthGroups& groups, std::uint32_t tokens);

}  // namespace weir::policy
