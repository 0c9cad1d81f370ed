#include "weir/kv/ledger.h"

#include <algorithm>
#include <utility>

#include "weir/base/check.h"
#include "weir/base/math.h"

namespace weir::kv {
namespace {

std::span<const TokenId> page_of(std::span<const TokenId> tokens, std::size_t page) {
  const std::size_t begin = page * kPageTokens;
  return tokens.subspan(begin, std::min<std::size_t>(kPageTokens, tokens.size() - begin));
}

/// The part of a prompt that a cache may answer: all but the last token, whose logits are wanted.
std::span<const TokenId> cacheable(std::span<const TokenId> prompt) {
  return prompt.first(prompt.empty() ? 0 : prompt.size() - 1);
}

}  // namespace

Ledger::Ledger(const LedgerOptions& options)
    : options_(options), pool_(options.pages), tree_(pool_) {
  for (Holders& h : holders_) h.tables.assign(options.pages, 0);
}

const Ledger::Sequence& Ledger::at(SequenceId id) const {
  const auto it = sequences_.find(id);
  WEIR_CHECK(it != sequences_.end(), "the sequence is open");
  return it->second;
}

Ledger::Sequence& Ledger::at(SequenceId id) {
  return const_cast<Sequence&>(std::as_const(*this).at(id));
}

void Ledger::hold(PageId page) {
  pool_.add_reference(page);
  if (pool_.references(page) == 1) tree_.reference_changed(page);
}

void Ledger::drop(PageId page) {
  pool_.drop_reference(page);
  if (pool_.references(page) == 0) tree_.reference_changed(page);
}

void Ledger::enter(const Sequence& s, PageId page) {
  for (std::size_t p = 0; p <= s.priority; ++p)
    holders_[p].pages += holders_[p].tables[index(page)]++ == 0;
}

void Ledger::leave(const Sequence& s, PageId page) {
  for (std::size_t p = 0; p <= s.priority; ++p)
    holders_[p].pages -= --holders_[p].tables[index(page)] == 0;
}

std::optional<PageId> Ledger::take_page() {
  if (pool_.free() == 0) {
    if (!tree_.evict_one()) return std::nullopt;
    ++stats_.evicted_pages;
  }
  return pool_.take();
}

void Ledger::copy(PageId from, PageId to, std::uint32_t slots) {
  hold(from);
  copies_.push_back({from, to, slots});
  ++stats_.copied_pages;
}

void Ledger::copies_done() {
  for (const PageCopy& c : copies_) drop(c.from);
  copies_.clear();
  trim_cache();
}

void Ledger::trim_cache() {
  while (pool_.cached() > options_.max_cached && tree_.evict_one()) ++stats_.evicted_pages;
}

Ledger::Match Ledger::match(Namespace space, std::span<const TokenId> prompt) const {
  Match found;
  if (!options_.prefix_cache) return found;
  const auto tokens = cacheable(prompt);
  NodeId tip = kNoNode;
  std::size_t page = 0;
  for (; (page + 1) * kPageTokens <= tokens.size(); ++page) {
    const NodeId next = tree_.find(space, tip, page_of(tokens, page));
    if (next == kNoNode) break;
    tip = next;
    found.held_pages += pool_.references(tree_.page(next)) > 0;
  }
  found.tokens = static_cast<std::uint32_t>(page) * kPageTokens;
  if (found.tokens < tokens.size()) {
    const auto partial = tree_.find_partial(space, tip, page_of(tokens, page));
    if (partial.tokens >= options_.min_copied_tokens) found.tokens += partial.tokens;
  }
  return found;
}

std::uint32_t Ledger::open(SequenceId id, Namespace space, std::uint8_t priority,
                           std::span<const TokenId> prompt) {
  WEIR_CHECK(!sequences_.contains(id), "a sequence opens once");
  WEIR_CHECK(priority < kPriorities, "the priority is one of those that are counted");
  Sequence& s = sequences_[id];
  s.space = space;
  s.priority = priority;
  stats_.queried_tokens += prompt.size();
  if (!options_.prefix_cache) return 0;
  const auto tokens = cacheable(prompt);
  while ((s.pages.size() + 1) * kPageTokens <= tokens.size()) {
    const NodeId next = tree_.find(space, s.tip, page_of(tokens, s.pages.size()));
    if (next == kNoNode) break;
    hold(tree_.page(next));
    tree_.touch(next, priority);
    enter(s, tree_.page(next));
    s.pages.push_back(tree_.page(next));
    s.tip = next;
  }
  s.published = static_cast<std::uint32_t>(s.pages.size());
  std::uint32_t found = s.published * kPageTokens;
  if (found < tokens.size()) {
    const auto partial = tree_.find_partial(space, s.tip, page_of(tokens, s.pages.size()));
    if (partial.tokens >= options_.min_copied_tokens) {
      const PageId source = tree_.page(partial.node);
      hold(source);  // So that making room does not evict it.
      tree_.touch(partial.node, priority);
      if (const auto page = take_page()) {
        copy(source, *page, partial.tokens);
        enter(s, *page);
        s.pages.push_back(*page);
        found += partial.tokens;
      }
      drop(source);
    }
  }
  stats_.hit_tokens += found;
  return found;
}

bool Ledger::tail_is_shared(const Sequence& s) const {
  if (s.pages.size() <= s.published) return false;
  const PageId tail = s.pages.back();
  return pool_.references(tail) > 1 || pool_.remembered(tail);
}

std::uint32_t Ledger::pages_needed(SequenceId id, std::uint32_t positions) const {
  const Sequence& s = at(id);
  const auto want = ceil_div<std::uint32_t>(positions, kPageTokens);
  const auto have = static_cast<std::uint32_t>(s.pages.size());
  return (want > have ? want - have : 0) + (tail_is_shared(s) ? 1 : 0);
}

void Ledger::expect(SequenceId id, std::uint32_t positions) {
  at(id).pages.reserve(ceil_div<std::uint32_t>(positions, kPageTokens));
}

bool Ledger::reserve(SequenceId id, std::uint32_t positions) {
  if (pages_needed(id, positions) > available()) return false;
  Sequence& s = at(id);
  if (tail_is_shared(s)) {
    const PageId own = *take_page();
    copy(s.pages.back(), own, kPageTokens);
    leave(s, s.pages.back());
    drop(s.pages.back());
    enter(s, own);
    s.pages.back() = own;
  }
  while (s.pages.size() * kPageTokens < positions) {
    s.pages.push_back(*take_page());
    enter(s, s.pages.back());
  }
  return true;
}

void Ledger::fork(SequenceId from, SequenceId to, std::uint8_t priority, std::uint32_t positions) {
  WEIR_CHECK(!sequences_.contains(to), "a sequence opens once");
  WEIR_CHECK(priority < kPriorities, "the priority is one of those that are counted");
  const Sequence& parent = at(from);
  const auto shared = ceil_div<std::uint32_t>(positions, kPageTokens);
  WEIR_CHECK(shared <= parent.pages.size(), "only pages that exist are shared");
  Sequence child;
  child.space = parent.space;
  child.priority = priority;
  child.pages.assign(parent.pages.begin(), parent.pages.begin() + shared);
  child.published = std::min(parent.published, positions / kPageTokens);
  if (child.published > 0) child.tip = tree_.node_of(child.pages[child.published - 1]);
  for (PageId page : child.pages) {
    hold(page);
    enter(child, page);
  }
  sequences_.emplace(to, std::move(child));
}

void Ledger::publish(SequenceId id, std::span<const TokenId> tokens, std::uint32_t computed) {
  if (!options_.prefix_cache) return;
  Sequence& s = at(id);
  WEIR_CHECK(computed <= tokens.size() && computed <= s.pages.size() * kPageTokens,
             "only computed positions are published");
  for (; (s.published + 1) * kPageTokens <= computed; ++s.published) {
    PageId& page = s.pages[s.published];
    const auto held = page_of(tokens, s.published);
    const NodeId twin = tree_.find(s.space, s.tip, held);
    if (twin == kNoNode) {
      s.tip = tree_.insert(s.space, s.tip, held, page, s.priority);
      continue;
    }
    s.tip = twin;
    tree_.touch(twin, s.priority);
    if (tree_.page(twin) == page) continue;
    // Two sequences computed the same page at once: equal bits (promise 1), so one is enough.
    hold(tree_.page(twin));
    enter(s, tree_.page(twin));
    leave(s, page);
    drop(page);
    page = tree_.page(twin);
    ++stats_.merged_pages;
  }
}

void Ledger::close(SequenceId id, std::span<const TokenId> tokens, std::uint32_t computed) {
  publish(id, tokens, computed);
  Sequence& s = at(id);
  const std::uint32_t rest = computed - s.published * kPageTokens;
  if (options_.prefix_cache && rest >= options_.min_copied_tokens && s.pages.size() > s.published) {
    const PageId page = s.pages[s.published];
    const auto held = tokens.subspan(s.published * kPageTokens, rest);
    // A page that a fork goes on writing must not be remembered half full, one that a fork only
    // read is remembered already, and what is known needs no second page. The partial search looks
    // at the newest siblings only, so the same tokens are asked for exactly as well.
    if (pool_.references(page) == 1 && !pool_.remembered(page) &&
        tree_.find_partial(s.space, s.tip, held).tokens < rest &&
        tree_.find(s.space, s.tip, held) == kNoNode) {
      tree_.insert(s.space, s.tip, held, page, s.priority);
    }
  }
  // Last page first, so that a leaf is evictable before its parent is.
  for (auto page = s.pages.rbegin(); page != s.pages.rend(); ++page) {
    leave(s, *page);
    drop(*page);
  }
  sequences_.erase(id);
  trim_cache();
}

void Ledger::check() const {
  pool_.check();
  tree_.check();
  std::vector<std::uint32_t> references(pool_.total(), 0);
  for (const auto& [id, s] : sequences_) {
    for (PageId page : s.pages) ++references[index(page)];
  }
  for (const PageCopy& c : copies_) ++references[index(c.from)];
  for (std::uint32_t i = 0; i < pool_.total(); ++i) {
    WEIR_CHECK(references[i] == pool_.references(PageId{i}),
               "references = table entries + pinned copies");
  }
  for (std::size_t p = 0; p < kPriorities; ++p) {
    std::fill(references.begin(), references.end(), 0);
    for (const auto& [id, s] : sequences_) {
      if (s.priority < p) continue;
      for (PageId page : s.pages) ++references[index(page)];
    }
    WEIR_CHECK(references == holders_[p].tables, "tables are counted by priority");
    const auto none = std::count(references.begin(), references.end(), 0U);
    WEIR_CHECK(pool_.total() - static_cast<std::uint64_t>(none) == holders_[p].pages,
               "a page is counted once");
  }
}

}  // namespace weir::kv
