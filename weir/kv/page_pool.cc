#include "weir/kv/page_pool.h"

#include "weir/base/check.h"

namespace weir::kv {

PagePool::PagePool(std::uint32_t total) : held_(total, false) {
  free_.reserve(total);
  for (std::uint32_t i = total; i > 0; --i) free_.push_back(PageId{i - 1});
}

bool PagePool::take(std::uint32_t count, std::vector<PageId>& pages) {
  if (count > free_.size()) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    const PageId page = free_.back();
    free_.pop_back();
    held_[index(page)] = true;
    pages.push_back(page);
  }
  return true;
}

void PagePool::give_back(std::span<const PageId> pages) {
  for (PageId page : pages) {
    WEIR_CHECK(index(page) < held_.size() && held_[index(page)],
               "only a held page can be given back");
    held_[index(page)] = false;
    free_.push_back(page);
  }
}

void PagePool::check() const {
  std::vector<bool> seen(held_.size(), false);
  for (PageId page : free_) {
    WEIR_CHECK(index(page) < held_.size(), "a free page exists");
    WEIR_CHECK(!held_[index(page)] && !seen[index(page)], "a free page is free once");
    seen[index(page)] = true;
  }
  std::size_t held = 0;
  for (bool h : held_) held += h;
  WEIR_CHECK(free_.size() + held == held_.size(), "free + held = total");
}

}  // namespace weir::kv
