#include "weir/kv/page_pool.h"

#include "weir/base/check.h"

namespace weir::kv {

PagePool::PagePool(std::uint32_t total) : state_(total) {
  free_.reserve(total);
  for (std::uint32_t i = total; i > 0; --i) free_.push_back(PageId{i - 1});
}

PageId PagePool::take() {
  WEIR_CHECK(!free_.empty(), "only a free page can be taken");
  const PageId page = free_.back();
  free_.pop_back();
  state_[index(page)].references = 1;
  return page;
}

void PagePool::add_reference(PageId page) {
  State& s = state_[index(page)];
  WEIR_CHECK(s.references > 0 || s.remembered, "only a held or cached page can be shared");
  if (s.references++ == 0) --cached_;
}

void PagePool::drop_reference(PageId page) {
  State& s = state_[index(page)];
  WEIR_CHECK(s.references > 0, "only a held page can be given back");
  if (--s.references > 0) return;
  if (s.remembered) {
    ++cached_;
  } else {
    free_.push_back(page);
  }
}

void PagePool::remember(PageId page) {
  State& s = state_[index(page)];
  WEIR_CHECK(s.references > 0 && !s.remembered, "only a held page is remembered, once");
  s.remembered = true;
}

void PagePool::forget(PageId page) {
  State& s = state_[index(page)];
  WEIR_CHECK(s.remembered, "only a remembered page can be forgotten");
  s.remembered = false;
  if (s.references > 0) return;
  --cached_;
  free_.push_back(page);
}

void PagePool::check() const {
  std::vector<bool> listed(state_.size(), false);
  for (PageId page : free_) {
    WEIR_CHECK(index(page) < state_.size() && !listed[index(page)], "a free page is listed once");
    listed[index(page)] = true;
  }
  std::uint32_t cached = 0;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    const State& s = state_[i];
    const bool is_free = s.references == 0 && !s.remembered;
    WEIR_CHECK(is_free == listed[i], "a page is free exactly when nobody holds or remembers it");
    cached += s.references == 0 && s.remembered;
  }
  WEIR_CHECK(cached == cached_, "free + held + cached = total");
}

}  // namespace weir::kv
