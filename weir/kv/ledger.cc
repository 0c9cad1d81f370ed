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

std::uint32_t page_ids(const LedgerOptions& options) {
  WEIR_CHECK(options.pages > 0 || options.shape.whole > 0, "the number of page ids is known");
  return options.pages > 0 ? options.pages : options.units / options.shape.whole;
}

}  // namespace

Ledger::Ledger(const LedgerOptions& options)
    : options_(options),
      store_(options.shape, options.units, page_ids(options)),
      classes_(options.shape, pool().total()) {}

const Ledger::Sequence& Ledger::at(SequenceId id) const {
  const auto it = sequences_.find(id);
  WEIR_CHECK(it != sequences_.end(), "the sequence is open");
  return it->second;
}

Ledger::Sequence& Ledger::at(SequenceId id) {
  return const_cast<Sequence&>(std::as_const(*this).at(id));
}

void Ledger::enter(const Sequence& s, PageId page, bool windowed) {
  store_.hold(page, windowed);
  classes_.count(s.priority, page, 1, windowed ? 1 : 0);
}

void Ledger::leave(const Sequence& s, PageId page, bool windowed) {
  classes_.count(s.priority, page, -1, windowed ? -1 : 0);
  store_.drop(page, windowed);
}

void Ledger::replace(Sequence& s, std::uint32_t at, PageId page) {
  const bool windowed = at >= s.first_windowed;
  enter(s, page, windowed);
  leave(s, std::exchange(s.pages[at], page), windowed);
}

std::uint32_t Ledger::held_by(SequenceId id) const {
  const Sequence& s = at(id);
  const auto pages = static_cast<std::uint32_t>(s.pages.size());
  return pages * options_.shape.whole + (pages - s.first_windowed) * options_.shape.windowed;
}

std::uint32_t Ledger::held_only_by(SequenceId id) const {
  const Sequence& s = at(id);
  std::uint32_t units = 0;
  for (std::uint32_t i = 0; i < s.pages.size(); ++i) {
    if (pool().references(s.pages[i]) == 1) units += options_.shape.whole;
    if (i >= s.first_windowed && store_.windows(s.pages[i]) == 1) units += options_.shape.windowed;
  }
  return units;
}

void Ledger::copy(PageId from, PageId to, std::uint32_t slots) {
  store_.hold(from, true);
  copies_.push_back({from, to, slots});
  ++stats_.copied_pages;
}

void Ledger::copies_done() {
  for (const PageCopy& c : copies_) store_.drop(c.from, true);
  copies_.clear();
  store_.trim(options_.max_cached);
}

Ledger::Found Ledger::look_up(Namespace space, std::span<const TokenId> prompt) const {
  Found found;
  if (!options_.prefix_cache) return found;
  const auto tokens = cacheable(prompt);
  NodeId tip = kNoNode;
  std::uint32_t page = 0;
  std::uint32_t windowed_from = 0;  // The windowed units of the pages from here on are there.
  for (; (page + 1) * kPageTokens <= tokens.size(); ++page) {
    const NodeId next = store_.tree().find(space, tip, page_of(tokens, page));
    if (next == kNoNode) break;
    tip = next;
    if (!store_.tree().has_windowed(next)) windowed_from = page + 1;
    if (windowed_from <= options_.shape.first_windowed((page + 1) * kPageTokens)) {
      found.tip = next;
      found.pages = page + 1;
    }
  }
  if (found.pages < page || found.tokens() == tokens.size()) return found;
  const auto partial = store_.tree().find_partial(space, tip, page_of(tokens, page));
  if (partial.tokens >= options_.min_copied_tokens && store_.tree().has_windowed(partial.node))
    found.partial = partial;
  return found;
}

Ledger::Match Ledger::match(Namespace space, std::span<const TokenId> prompt) const {
  const Found found = look_up(space, prompt);
  Match match{found.tokens(), 0};
  for (NodeId node = found.tip; node != kNoNode; node = store_.tree().parent(node)) {
    if (pool().references(store_.tree().page(node)) > 0) match.held_units += options_.shape.whole;
  }
  return match;
}

std::uint32_t Ledger::open(SequenceId id, Namespace space, std::uint8_t priority,
                           std::span<const TokenId> prompt) {
  WEIR_CHECK(!sequences_.contains(id), "a sequence opens once");
  WEIR_CHECK(priority < kPriorities, "the priority is one of those that are counted");
  Sequence& s = sequences_[id];
  s.space = space;
  s.priority = priority;
  stats_.queried_tokens += prompt.size();
  const Found found = look_up(space, prompt);
  s.tip = found.tip;
  s.published = found.pages;
  s.pages.resize(found.pages);
  NodeId node = found.tip;
  for (auto page = s.pages.rbegin(); page != s.pages.rend(); ++page) {
    *page = store_.tree().page(node);
    node = store_.tree().parent(node);
  }
  std::uint32_t computed = found.pages * kPageTokens;
  s.first_windowed = options_.shape.first_windowed(computed);
  for (std::uint32_t i = 0; i < found.pages; ++i) {
    enter(s, s.pages[i], i >= s.first_windowed);
    store_.tree().touch(store_.tree().node_of(s.pages[i]), priority);
  }
  if (found.partial.node != kNoNode) {
    const PageId source = store_.tree().page(found.partial.node);
    store_.hold(source, true);  // So that making room does not evict it.
    store_.tree().touch(found.partial.node, priority);
    if (const auto page = store_.take()) {
      copy(source, *page, found.partial.tokens);
      classes_.count(s.priority, *page, 1, 1);
      s.pages.push_back(*page);
      computed += found.partial.tokens;
      move_window(s, computed);
    }
    store_.drop(source, true);
  }
  stats_.hit_tokens += computed;
  return computed;
}

bool Ledger::tail_is_shared(const Sequence& s) const {
  if (s.pages.size() <= s.published) return false;
  const PageId tail = s.pages.back();
  return pool().references(tail) > 1 || pool().remembered(tail);
}

std::uint32_t Ledger::pages_needed(const Sequence& s, std::uint32_t positions) const {
  const auto want = ceil_div<std::uint32_t>(positions, kPageTokens);
  const auto have = static_cast<std::uint32_t>(s.pages.size());
  return (want > have ? want - have : 0) + (tail_is_shared(s) ? 1 : 0);
}

std::uint32_t Ledger::units_needed(SequenceId id, std::uint32_t positions) const {
  return pages_needed(at(id), positions) * options_.shape.of_page();
}

void Ledger::expect(SequenceId id, std::uint32_t positions) {
  at(id).pages.reserve(ceil_div<std::uint32_t>(positions, kPageTokens));
}

bool Ledger::reserve(SequenceId id, std::uint32_t positions) {
  Sequence& s = at(id);
  if (!store_.can_take(pages_needed(s, positions))) return false;
  if (tail_is_shared(s)) {  // Never behind the window: it ends with the position before.
    const PageId own = *store_.take();
    copy(s.pages.back(), own, kPageTokens);
    leave(s, s.pages.back(), true);
    classes_.count(s.priority, own, 1, 1);
    s.pages.back() = own;
  }
  while (s.pages.size() * kPageTokens < positions) {
    s.pages.push_back(*store_.take());
    classes_.count(s.priority, s.pages.back(), 1, 1);
  }
  return true;
}

bool Ledger::can_fork(SequenceId from, std::uint32_t positions) const {
  if (options_.shape.windowed == 0) return true;
  const Sequence& parent = at(from);
  const auto shared = ceil_div<std::uint32_t>(positions, kPageTokens);
  for (std::uint32_t i = options_.shape.first_windowed(positions); i < shared; ++i) {
    if (!units().has_windowed(parent.pages[i])) return false;
  }
  return true;
}

void Ledger::fork(SequenceId from, SequenceId to, std::uint8_t priority, std::uint32_t positions) {
  WEIR_CHECK(!sequences_.contains(to), "a sequence opens once");
  WEIR_CHECK(priority < kPriorities, "the priority is one of those that are counted");
  const Sequence& parent = at(from);
  const auto shared = ceil_div<std::uint32_t>(positions, kPageTokens);
  WEIR_CHECK(shared <= parent.pages.size(), "only pages that exist are shared");
  WEIR_CHECK(can_fork(from, positions), "what the window shows is still there");
  Sequence child;
  child.space = parent.space;
  child.priority = priority;
  child.pages.assign(parent.pages.begin(), parent.pages.begin() + shared);
  child.first_windowed = options_.shape.first_windowed(positions);
  child.published = std::min(parent.published, positions / kPageTokens);
  if (child.published > 0) child.tip = store_.tree().node_of(child.pages[child.published - 1]);
  for (std::uint32_t i = 0; i < shared; ++i)
    enter(child, child.pages[i], i >= child.first_windowed);
  sequences_.emplace(to, std::move(child));
}

void Ledger::hand_window_over(std::uint32_t at, PageId page, PageId twin) {
  WEIR_CHECK(copies_.empty(), "nobody is about to copy what moves");
  store_.move_windowed(page, twin);
  for (auto& [id, s] : sequences_) {
    if (at < s.pages.size() && s.pages[at] == page) replace(s, at, twin);
  }
}

void Ledger::publish(Sequence& s, std::span<const TokenId> tokens, std::uint32_t computed) {
  for (; (s.published + 1) * kPageTokens <= computed; ++s.published) {
    const PageId page = s.pages[s.published];
    const auto held = page_of(tokens, s.published);
    const NodeId known = store_.tree().find(s.space, s.tip, held);
    if (known == kNoNode) {
      s.tip = store_.tree().insert(s.space, s.tip, held, page, s.priority);
      continue;
    }
    s.tip = known;
    store_.tree().touch(known, s.priority);
    const PageId twin = store_.tree().page(known);
    if (twin == page) continue;
    // Two sequences computed the same page at once: equal bits (promise 1), so one is enough.
    if (s.published >= s.first_windowed && units().has_windowed(page) &&
        !units().has_windowed(twin)) {
      hand_window_over(s.published, page, twin);
    } else {
      replace(s, s.published, twin);
    }
    ++stats_.merged_pages;
  }
}

void Ledger::move_window(Sequence& s, std::uint32_t computed) {
  for (const auto first = options_.shape.first_windowed(computed); s.first_windowed < first;
       ++s.first_windowed) {
    const PageId page = s.pages[s.first_windowed];
    classes_.count(s.priority, page, 0, -1);
    store_.leave_window(page);
  }
}

void Ledger::advance(SequenceId id, std::span<const TokenId> tokens, std::uint32_t computed) {
  Sequence& s = at(id);
  WEIR_CHECK(computed <= tokens.size() && computed <= s.pages.size() * kPageTokens,
             "only computed positions are published");
  if (options_.prefix_cache) publish(s, tokens, computed);
  move_window(s, computed);
  store_.trim(options_.max_cached);
}

void Ledger::close(SequenceId id, std::span<const TokenId> tokens, std::uint32_t computed) {
  advance(id, tokens, computed);
  Sequence& s = at(id);
  const std::uint32_t rest = computed - s.published * kPageTokens;
  if (options_.prefix_cache && rest >= options_.min_copied_tokens && s.pages.size() > s.published) {
    const PageId page = s.pages[s.published];
    const auto held = tokens.subspan(s.published * kPageTokens, rest);
    // A page that a fork goes on writing must not be remembered half full, one that a fork only
    // read is remembered already, and what is known needs no second page. The partial search looks
    // at the newest siblings only, so the same tokens are asked for exactly as well.
    if (pool().references(page) == 1 && !pool().remembered(page) &&
        store_.tree().find_partial(s.space, s.tip, held).tokens < rest &&
        store_.tree().find(s.space, s.tip, held) == kNoNode) {
      store_.tree().insert(s.space, s.tip, held, page, s.priority);
    }
  }
  // Last page first, so that a leaf is evictable before its parent is.
  for (auto i = static_cast<std::uint32_t>(s.pages.size()); i-- > 0;)
    leave(s, s.pages[i], i >= s.first_windowed);
  sequences_.erase(id);
  store_.trim(options_.max_cached);
}

void Ledger::check() const {
  std::vector<std::uint32_t> tables(pool().total(), 0);
  std::vector<std::uint32_t> windows(pool().total(), 0);
  // From the highest class down, each beside those above it.
  for (std::size_t p = kPriorities; p-- > 0;) {
    for (const auto& [id, s] : sequences_) {
      if (s.priority != p) continue;
      for (std::uint32_t i = 0; i < s.pages.size(); ++i) {
        ++tables[index(s.pages[i])];
        windows[index(s.pages[i])] += i >= s.first_windowed;
      }
    }
    classes_.check(static_cast<std::uint8_t>(p), tables, windows);
  }
  for (const PageCopy& c : copies_) {
    ++tables[index(c.from)];
    ++windows[index(c.from)];
  }
  store_.check(tables, windows);
}

}  // namespace weir::kv
