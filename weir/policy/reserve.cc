#include "weir/policy/reserve.h"

#include <algorithm>

#include "weir/base/math.h"

namespace weir::policy {

std::uint32_t set_aside(const Reserve& reserve, Priority p, std::uint32_t total) {
  std::uint64_t aside = 0;
  for (std::size_t above = static_cast<std::size_t>(p) + 1; above < kPriorities; ++above)
    aside += ceil_div<std::uint64_t>(std::uint64_t{total} * reserve.percent[above], 100);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(aside, total > 0 ? total - 1 : 0));
}

std::uint64_t total_that_leaves(const Reserve& reserve, Priority p, std::uint32_t wanted) {
  if (wanted <= 1) return wanted;  // One is never set aside.
  std::uint64_t shares = 0;
  for (std::size_t above = static_cast<std::size_t>(p) + 1; above < kPriorities; ++above)
    shares += reserve.percent[above];
  // Without rounding it would be this; each class above rounds up by less than one.
  std::uint64_t total = ceil_div<std::uint64_t>(std::uint64_t{wanted} * 100, 100 - shares);
  while (total - set_aside(reserve, p, static_cast<std::uint32_t>(total)) < wanted) ++total;
  return total;
}

std::optional<Priority> bound_met(const Reserve& reserve, Priority p, std::uint64_t wanted,
                                  const Usage& usage) {
  for (auto c = static_cast<std::size_t>(p); c + 1 < kPriorities; ++c) {
    const std::uint64_t aside = set_aside(reserve, static_cast<Priority>(c), usage.total);
    // What those up to c have is what neither is free nor belongs to somebody above.
    const auto others = usage.free + static_cast<std::int64_t>(usage.from[c + 1]);
    if (aside > 0 && others < static_cast<std::int64_t>(wanted + aside))
      return static_cast<Priority>(c);
  }
  return std::nullopt;
}

bool takes_nothing_from(const Reserve& reserve, Priority waiting, std::uint64_t wanted,
                        const Usage& usage) {
  const auto above = static_cast<std::size_t>(waiting) + 1;
  return above < kPriorities &&
         usage.from[above] + wanted <= set_aside(reserve, waiting, usage.total);
}

}  // namespace weir::policy
