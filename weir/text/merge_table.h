#pragma once

/// The heart of every BPE: which two adjacent symbols become which one, and in what order, and the
/// loop that applies it. Symbols are small integers; the order is a priority, lower first, and of
/// equal priorities the leftmost.
///
/// merge() costs O(n^2) up to kShort symbols, where that is the fastest, and O(n log n) above, so
/// no text makes it slow. Thread safety: immutable after build; merge() may be called from any
/// thread.

#include <cstdint>
#include <vector>

namespace weir::text {

class MergeTable {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  static constexpr std::size_t kShort = 48;

  struct Rule {
    std::uint32_t priority = kNone;
    std::uint32_t result = kNone;
  };

  /// How many add() calls to expect at most; sizes the table.
  explicit MergeTable(std::size_t rules);
  MergeTable() : MergeTable(0) {}

  /// Of two rules for one pair the lower priority stays. REQUIRES: not more than were announced.
  void add(std::uint32_t left, std::uint32_t right, Rule rule);

  [[nodiscard]] Rule find(std::uint32_t left, std::uint32_t right) const;

  /// What merge() did last to reach a symbol; for tokenizers that must take a symbol apart again.
  struct Made {
    std::uint32_t symbol, left, right;
  };

  /// Merges in place until no rule applies.
  void merge(std::vector<std::uint32_t>& symbols, std::vector<Made>* made = nullptr) const;

 private:
  struct Slot {
    std::uint64_t pair;
    Rule rule;
  };
  [[nodiscard]] std::size_t place(std::uint64_t pair) const;
  void merge_short(std::vector<std::uint32_t>& symbols, std::vector<Made>* made) const;
  void merge_long(std::vector<std::uint32_t>& symbols, std::vector<Made>* made) const;

  std::vector<Slot> slots_;  ///< Open addressing, at most half full; a size that is a power of two.
  int shift_;
};

}  // namespace weir::text
