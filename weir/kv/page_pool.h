#pragma once

/// The ledger of KV pages: which are free, which are held. It knows ids, never bytes; the bytes a
/// PageId names live in compute/kv_arena.h.
///
/// Books balance: free + held = total after every operation, proven by check().
/// Thread safety: none; one owner.

#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/ids.h"

namespace weir::kv {

class PagePool {
 public:
  explicit PagePool(std::uint32_t total);

  [[nodiscard]] std::uint32_t total() const { return static_cast<std::uint32_t>(held_.size()); }
  [[nodiscard]] std::uint32_t free() const { return static_cast<std::uint32_t>(free_.size()); }
  [[nodiscard]] std::uint32_t held() const { return total() - free(); }

  /// Appends `count` pages to `pages`, all or nothing. False when fewer are free.
  [[nodiscard]] bool take(std::uint32_t count, std::vector<PageId>& pages);

  /// REQUIRES: every page is held. Each becomes free.
  void give_back(std::span<const PageId> pages);

  /// Aborts when the books do not balance. O(total).
  void check() const;

 private:
  std::vector<PageId> free_;  ///< A stack: the page freed last is warm in cache, so it goes first.
  std::vector<bool> held_;    ///< [total]
};

}  // namespace weir::kv
