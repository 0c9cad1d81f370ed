#include "weir/policy/length_groups.h"

namespace weir::policy {

std::uint32_t group_of(const LengthGroups& groups, std::uint32_t tokens) {
  std::uint32_t group = 0;
  while (group + 1 < groups.size() && tokens > groups[group].most_tokens) ++group;
  return group;
}

}  // namespace weir::policy
