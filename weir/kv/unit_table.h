#pragma once

/// Which units of memory stand behind each page (spec/kv_units.h), and which are free. A unit
/// belongs to one page at a time; a page has all its whole units or none, and all its windowed ones
/// or none. The bytes a UnitId names live in compute/kv_arena.h, which looks units up in table().
/// Thread safety: none; one owner.

#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/ids.h"
#include "weir/spec/kv_units.h"

namespace weir::kv {

class UnitTable {
 public:
  UnitTable(const KvUnits& shape, std::uint32_t units, std::uint32_t pages);

  [[nodiscard]] const KvUnits& shape() const { return shape_; }
  [[nodiscard]] std::uint32_t total() const { return total_; }
  [[nodiscard]] std::uint32_t free() const { return static_cast<std::uint32_t>(free_.size()); }
  /// [pages, shape().of_page()] kNoUnit where a page has none. Stays where it is.
  [[nodiscard]] std::span<const UnitId> table() const { return table_; }
  [[nodiscard]] bool has_windowed(PageId page) const {
    return shape_.windowed > 0 && row(page).back() != kNoUnit;
  }
  /// Units that the page has.
  [[nodiscard]] std::uint32_t count(PageId page) const;

  /// REQUIRES: free() >= shape().of_page(); the page has none.
  void take(PageId page);
  /// All that it has.
  void give(PageId page);
  /// REQUIRES: has_windowed(page).
  void give_windowed(PageId page);
  /// REQUIRES: has_windowed(from), and `to` has no windowed ones.
  void move_windowed(PageId from, PageId to);

  /// Aborts when a unit is nowhere, or in two places. O(units + pages).
  void check() const;

 private:
  [[nodiscard]] std::span<const UnitId> row(PageId page) const {
    return std::span(table_).subspan(std::size_t{index(page)} * shape_.of_page(), shape_.of_page());
  }
  [[nodiscard]] std::span<UnitId> row(PageId page) {
    return std::span(table_).subspan(std::size_t{index(page)} * shape_.of_page(), shape_.of_page());
  }
  void give(std::span<UnitId> units);

  KvUnits shape_;
  std::uint32_t total_;
  std::vector<UnitId> free_;  ///< A stack: the unit freed last is warm in cache, so it goes first.
  std::vector<UnitId> table_;
};

}  // namespace weir::kv
