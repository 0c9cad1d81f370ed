#pragma once

/// Finding where a sorted prefix would end, without sorting: weighted quickselect over candidates.
/// Thread safety: pure functions over the caller's memory.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>

#include "weir/model/logit_scan.h"

namespace weir::model {

/// The total order of candidates: larger key first, ties to the lower id.
[[nodiscard]] inline bool better(const Candidate& a, const Candidate& b) {
  return a.key != b.key ? a.key > b.key : a.token < b.token;
}

/// Reorders `c` so that its best n come first, where n is the smallest count whose measures reach
/// `target`, and returns n: at least 1, c.size() when even all of them fall short. Expected
/// O(size); the resulting order is a function of the input alone, the same with every standard
/// library.
template <class Measure>
[[nodiscard]] std::size_t select_prefix(std::span<Candidate> c, double target, Measure measure) {
  std::size_t low = 0;          // [0, low) is in the prefix and sums to `sum`.
  std::size_t high = c.size();  // The prefix ends within [low, high).
  double sum = 0;
  // A run of bad pivots ends in the sort below instead of quadratic time.
  for (int rounds = 4 * std::bit_width(c.size()); high - low > 16 && rounds > 0; --rounds) {
    std::size_t middle = low + (high - low) / 2;
    if (better(c[middle], c[low])) std::swap(c[middle], c[low]);
    if (better(c[high - 1], c[low])) std::swap(c[high - 1], c[low]);
    if (better(c[high - 1], c[middle])) std::swap(c[high - 1], c[middle]);
    const Candidate pivot = c[middle];
    std::swap(c[middle], c[high - 1]);
    std::size_t split = low;
    double left = 0;
    for (std::size_t i = low; i + 1 < high; ++i) {
      if (!better(c[i], pivot)) continue;
      left += measure(c[i]);
      std::swap(c[i], c[split++]);
    }
    std::swap(c[split], c[high - 1]);
    if (sum + left >= target) {
      high = split;
    } else if (sum + left + measure(pivot) >= target) {
      return split + 1;
    } else {
      sum += left + measure(pivot);
      low = split + 1;
    }
  }
  std::sort(c.begin() + static_cast<std::ptrdiff_t>(low),
            c.begin() + static_cast<std::ptrdiff_t>(high), better);
  for (; low < high; ++low) {
    sum += measure(c[low]);
    if (sum >= target) return low + 1;
  }
  return std::max<std::size_t>(high, 1);
}

}  // namespace weir::model
