#include "weir/text/byte_trie.h"

#include <algorithm>

namespace weir::text {

ByteTrie::ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>> entries) : ByteTrie() {
  std::erase_if(entries, [](const auto& entry) { return entry.first.empty(); });
  std::sort(entries.begin(), entries.end());
  // Breadth first: each range of entries shares a prefix of `depth` bytes and becomes the children
  // of `parent`, so siblings are neighbours.
  struct Range {
    std::size_t begin, end, depth;
    std::uint32_t parent;
  };
  std::vector<Range> level = {{0, entries.size(), 0, kNoNode}};
  while (!level.empty()) {
    std::vector<Range> next;
    for (const Range& range : level) {
      std::size_t begin = range.begin;
      const auto first_child = static_cast<std::uint32_t>(nodes_.size());
      while (begin < range.end && entries[begin].first.size() == range.depth) ++begin;
      while (begin < range.end) {
        const auto byte = static_cast<std::uint8_t>(entries[begin].first[range.depth]);
        std::size_t end = begin;
        while (end < range.end &&
               static_cast<std::uint8_t>(entries[end].first[range.depth]) == byte)
          ++end;
        const auto node = static_cast<std::uint32_t>(nodes_.size());
        const bool is_key = entries[begin].first.size() == range.depth + 1;
        nodes_.push_back({is_key ? entries[begin].second : kNoValue, 0, 0, byte});
        if (range.parent == kNoNode) root_[byte] = node;
        next.push_back({begin, end, range.depth + 1, node});
        begin = end;
      }
      if (range.parent != kNoNode) {
        nodes_[range.parent].first_child = first_child;
        nodes_[range.parent].children = static_cast<std::uint16_t>(nodes_.size() - first_child);
      }
    }
    level = std::move(next);
  }
}

std::uint32_t ByteTrie::child(std::uint32_t node, std::uint8_t byte) const {
  const Node& n = nodes_[node];
  const Node* first = nodes_.data() + n.first_child;
  const Node* last = first + n.children;
  if (n.children > 8) {
    first = std::lower_bound(first, last, byte,
                             [](const Node& a, std::uint8_t b) { return a.byte < b; });
  } else {
    while (first != last && first->byte != byte) ++first;
  }
  return first != last && first->byte == byte ? static_cast<std::uint32_t>(first - nodes_.data())
                                              : kNoNode;
}

ByteTrie::Longest ByteTrie::longest(std::string_view text) const {
  Longest best;
  prefixes(text, [&](std::size_t length, std::int32_t value) { best = {length, value}; });
  return best;
}

}  // namespace weir::text
