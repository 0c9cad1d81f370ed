#pragma once

/// A set of byte strings with a value each, asked which of them begin a text.
/// Built once from all its keys; two words a node.
/// Thread safety: immutable after build.

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::text {

class ByteTrie {
 public:
  static constexpr std::int32_t kNoValue = -1;

  ByteTrie() { root_.fill(kNoNode); }

  /// Empty keys are left out; of equal keys the lowest value stays. Values are >= 0.
  explicit ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>> entries);

  /// Calls visit(length, value) for every key that `text` begins with, shortest first.
  template <class Visit>
  void prefixes(std::string_view text, Visit&& visit) const {
    if (text.empty()) return;
    std::uint32_t node = root_[static_cast<std::uint8_t>(text[0])];
    for (std::size_t length = 1; node != kNoNode; ++length) {
      if (nodes_[node].value != kNoValue) visit(length, nodes_[node].value);
      if (length == text.size()) return;
      node = child(node, static_cast<std::uint8_t>(text[length]));
    }
  }

  struct Longest {
    std::size_t length = 0;  ///< 0: none.
    std::int32_t value = kNoValue;
  };
  [[nodiscard]] Longest longest(std::string_view text) const;

  [[nodiscard]] bool may_begin(char first) const {
    return root_[static_cast<std::uint8_t>(first)] != kNoNode;
  }
  [[nodiscard]] bool empty() const { return nodes_.empty(); }

 private:
  static constexpr std::uint32_t kNoNode = 0xFFFFFFFF;
  struct Node {
    std::int32_t value;
    std::uint32_t first_child;  ///< Children are neighbours, ordered by byte.
    std::uint16_t children;
    std::uint8_t byte;
  };
  static_assert(sizeof(Node) == 12);
  [[nodiscard]] std::uint32_t child(std::uint32_t node, std::uint8_t byte) const;

  std::array<std::uint32_t, 256> root_;
  std::vector<Node> nodes_;
};

}  // namespace weir::text
