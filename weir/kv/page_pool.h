#pragma once

/// The ledger of KV pages: which are free, which are held and how often, which are only cached. It
/// knows ids, never bytes; what memory stands behind a PageId is unit_table.h's business.
///
/// A page is free, or held (references > 0), or cached (no reference, but the prefix tree remembers
/// its tokens). Books balance: free + held + cached = total after every operation; check() proves
/// it. Thread safety: none; one owner.

#include <cstdint>
#include <vector>

#include "weir/base/ids.h"

namespace weir::kv {

class PagePool {
 public:
  explicit PagePool(std::uint32_t total);

  [[nodiscard]] std::uint32_t total() const { return static_cast<std::uint32_t>(state_.size()); }
  [[nodiscard]] std::uint32_t free() const { return static_cast<std::uint32_t>(free_.size()); }
  [[nodiscard]] std::uint32_t held() const { return total() - free() - cached_; }
  [[nodiscard]] std::uint32_t cached() const { return cached_; }
  [[nodiscard]] std::uint32_t references(PageId page) const {
    return state_[index(page)].references;
  }
  [[nodiscard]] bool remembered(PageId page) const { return state_[index(page)].remembered; }

  /// A free page, now held once. REQUIRES: free() > 0.
  [[nodiscard]] PageId take();

  /// REQUIRES: the page is held or cached.
  void add_reference(PageId page);
  /// REQUIRES: the page is held. Without references it becomes cached if remembered, else free.
  void drop_reference(PageId page);

  /// The prefix tree remembers, or forgets, what the page holds. A forgotten page without
  /// references is free. REQUIRES: the page is not free; remember and forget alternate.
  void remember(PageId page);
  void forget(PageId page);

  /// Aborts when the books do not balance. O(total).
  void check() const;

 private:
  struct State {
    std::uint32_t references = 0;
    bool remembered = false;
  };
  std::vector<PageId> free_;  ///< A stack: the page freed last is warm in cache, so it goes first.
  std::vector<State> state_;  ///< [total]
  std::uint32_t cached_ = 0;
};

}  // namespace weir::kv
