#pragma once

/// The name a person probably meant. Thread safety: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace weir::plan {

/// The candidate within a third of the letters of `name` (edit distance, insertions, deletions,
/// substitutions and swaps of neighbours; case and -_. ignored), or one that begins with it; empty
/// when none is near.
[[nodiscard]] std::string nearest(std::string_view name,
                                  const std::vector<std::string>& candidates);

/// "did you mean 'h100'? Known: a100, b200, h100": the end of an error line.
[[nodiscard]] std::string suggestion(std::string_view name,
                                     const std::vector<std::string>& candidates);

/// The keys of a map as candidates.
template <class Map>
[[nodiscard]] std::vector<std::string> names_of(const Map& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  return names;
}

}  // namespace weir::plan
