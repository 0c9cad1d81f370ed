#include "weir/kv/page_store.h"

#include "weir/base/check.h"

namespace weir::kv {

PageStore::PageStore(const KvUnits& shape, std::uint32_t units, std::uint32_t pages)
    : pool_(pages), units_(shape, units, pages), tree_(pool_), windows_(pages, 0) {}

std::uint32_t PageStore::cached_of(PageId page) const {
  if (pool_.references(page) == 0) return pool_.remembered(page) ? units_.count(page) : 0;
  return units_.has_windowed(page) && windows(page) == 0 ? shape().windowed : 0;
}

template <class F>
void PageStore::change(PageId page, const F& f) {
  cached_ -= cached_of(page);
  f();
  settle(page);
  cached_ += cached_of(page);
}

void PageStore::settle(PageId page) {
  if (pool_.references(page) == 0 && !pool_.remembered(page)) {
    units_.give(page);
  } else if (!units_.has_windowed(page)) {
    return;
  } else if (windows(page) > 0) {
    tree_.set_windowed(page, Windowed::kKept);
  } else if (pool_.references(page) > 0) {
    if (pool_.remembered(page)) {
      tree_.set_windowed(page, Windowed::kSpare);
    } else {
      units_.give_windowed(page);
    }
  }
  // A page that leaves its last table within its window keeps what it has, for whoever goes on from
  // there.
}

void PageStore::hold(PageId page, bool windowed) {
  WEIR_CHECK(!windowed || shape().windowed == 0 || units_.has_windowed(page),
             "what a window shows is there");
  change(page, [&] {
    pool_.add_reference(page);
    if (pool_.references(page) == 1) tree_.reference_changed(page);
    windows_[index(page)] += windowed;
  });
}

void PageStore::drop(PageId page, bool windowed) {
  change(page, [&] {
    windows_[index(page)] -= windowed;
    pool_.drop_reference(page);
    if (pool_.references(page) == 0) tree_.reference_changed(page);
  });
}

void PageStore::leave_window(PageId page) {
  change(page, [&] { --windows_[index(page)]; });
}

void PageStore::move_windowed(PageId from, PageId to) {
  change(to, [&] {
    units_.move_windowed(from, to);
    tree_.set_windowed(to, Windowed::kKept);
  });
}

bool PageStore::can_take(std::uint32_t pages) const {
  return std::uint64_t{pages} * shape().of_page() <= available() &&
         pages <= pool_.free() + pool_.cached();
}

std::optional<PageId> PageStore::take() {
  while (units_.free() < shape().of_page()) {
    if (!evict_one()) return std::nullopt;
  }
  if (pool_.free() == 0 && !evict_page()) return std::nullopt;
  const PageId page = pool_.take();
  units_.take(page);
  windows_[index(page)] = 1;
  return page;
}

void PageStore::trim(std::uint32_t most) {
  while (cached_ > most && evict_one()) {
  }
}

bool PageStore::evict_one() {
  const auto page = tree_.least_spare();
  if (!page) return evict_page();
  change(*page, [&] {
    units_.give_windowed(*page);
    tree_.set_windowed(*page, Windowed::kGone);
  });
  ++evicted_.windows;
  return true;
}

bool PageStore::evict_page() {
  const auto page = tree_.evict_one();
  if (!page) return false;
  cached_ -= units_.count(*page);
  units_.give(*page);
  ++evicted_.pages;
  return true;
}

void PageStore::check(std::span<const std::uint32_t> references,
                      std::span<const std::uint32_t> windows) const {
  pool_.check();
  tree_.check();
  units_.check();
  std::uint32_t cached = 0;
  for (std::uint32_t i = 0; i < pool_.total(); ++i) {
    const PageId page{i};
    WEIR_CHECK(references[i] == pool_.references(page),
               "references = table entries + pinned copies");
    WEIR_CHECK(windows[i] == windows_[i], "windows = table entries within them + pinned copies");
    const bool is_free = references[i] == 0 && !pool_.remembered(page);
    const std::uint32_t has = units_.count(page);
    WEIR_CHECK(is_free ? has == 0 : has >= shape().whole,
               "whole units stay as long as the page does");
    WEIR_CHECK(windows[i] == 0 || shape().windowed == 0 || units_.has_windowed(page),
               "what a window shows is there");
    const NodeId node = tree_.node_of(page);
    WEIR_CHECK(node == kNoNode || shape().windowed == 0 ||
                   tree_.has_windowed(node) == units_.has_windowed(page),
               "the tree knows what is gone");
    cached += cached_of(page);
  }
  WEIR_CHECK(cached == cached_, "free + held + cached = total");
}

}  // namespace weir::kv
