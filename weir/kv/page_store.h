#pragma once

/// The pages of the KV pool and all that must agree about them: who holds them (PagePool), in how
/// many windows they are, what memory stands behind them (UnitTable), and what they are remembered
/// for (PrefixTree). It knows no sequence: kv/ledger.h does.
///
/// A page's whole units are held as long as it is. Its windowed units are held while it is in some
/// window; beyond, they are cached as long as the page is remembered, and evicted before anything
/// else unless nobody holds the page, and free at once where it is not remembered. Books, in units:
/// free + held + cached = total. Thread safety: none; one owner.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/ids.h"
#include "weir/kv/page_pool.h"
#include "weir/kv/prefix_tree.h"
#include "weir/kv/unit_table.h"
#include "weir/spec/kv_units.h"

namespace weir::kv {

class PageStore {
 public:
  PageStore(const KvUnits& shape, std::uint32_t units, std::uint32_t pages);

  [[nodiscard]] const KvUnits& shape() const { return units_.shape(); }
  [[nodiscard]] const PagePool& pool() const { return pool_; }
  [[nodiscard]] const UnitTable& units() const { return units_; }
  [[nodiscard]] const PrefixTree& tree() const { return tree_; }
  [[nodiscard]] PrefixTree& tree() { return tree_; }

  /// Units.
  [[nodiscard]] std::uint32_t cached() const { return cached_; }
  [[nodiscard]] std::uint32_t available() const { return units_.free() + cached_; }

  /// Windows that the page is in.
  [[nodiscard]] std::uint32_t windows(PageId page) const { return windows_[index(page)]; }

  /// Whether so many more pages can be had.
  [[nodiscard]] bool can_take(std::uint32_t pages) const;
  /// One with all its units, held once and in one window; may evict.
  [[nodiscard]] std::optional<PageId> take();
  /// Once more, or less, and in a window or not. REQUIRES: a page that comes into a window has its
  /// windowed units.
  void hold(PageId page, bool windowed);
  void drop(PageId page, bool windowed);
  /// It stays held and is in one window less.
  void leave_window(PageId page);
  /// The windowed units become those of `to`, which has none and holds the same; `from` must be
  /// dropped by all who hold it.
  void move_windowed(PageId from, PageId to);
  /// Evicts until no more than so many units are cached.
  void trim(std::uint32_t most);

  struct Evicted {
    std::uint64_t pages = 0;
    std::uint64_t windows = 0;  ///< Windowed units of a page, taken while the page stayed.
  };
  [[nodiscard]] const Evicted& evicted() const { return evicted_; }

  /// Aborts when the parts disagree, or with these counts [page] of tables and windows.
  void check(std::span<const std::uint32_t> references,
             std::span<const std::uint32_t> windows) const;

 private:
  [[nodiscard]] std::uint32_t cached_of(PageId page) const;
  /// Runs f, which changes who holds the page or its window, and draws the conclusions.
  template <class F>
  void change(PageId page, const F& f);
  void settle(PageId page);
  /// What is worth least; false when nothing is cached.
  bool evict_one();
  bool evict_page();

  PagePool pool_;
  UnitTable units_;
  PrefixTree tree_;
  std::vector<std::uint32_t> windows_;  ///< [page]
  std::uint32_t cached_ = 0;
  Evicted evicted_;
};

}  // namespace weir::kv
