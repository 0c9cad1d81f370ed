#include "weir/text/merge_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <queue>

#include "weir/base/check.h"

namespace weir::text {
namespace {

constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // The pair (kNone, kNone), never a rule.

constexpr std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) {
  return std::uint64_t{left} << 32 | right;
}

}  // namespace

MergeTable::MergeTable(std::size_t rules) {
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(2 * rules, 2));
  slots_.assign(size, Slot{kEmpty, {}});
  shift_ = 64 - std::countr_zero(size);
}

std::size_t MergeTable::place(std::uint64_t pair) const {
  // Fibonacci hashing; the multiply carries both halves into the top bits.
  std::size_t i = ((pair ^ pair >> 29) * 0x9E3779B97F4A7C15ULL) >> shift_;
  while (slots_[i].pair != pair && slots_[i].pair != kEmpty) i = (i + 1) & (slots_.size() - 1);
  return i;
}

void MergeTable::add(std::uint32_t left, std::uint32_t right, Rule rule) {
  WEIR_CHECK(left != kNone && right != kNone, "kNone is not a symbol");
  Slot& slot = slots_[place(pair_of(left, right))];
  slot.pair = pair_of(left, right);
  if (rule.priority < slot.rule.priority) slot.rule = rule;
}

MergeTable::Rule MergeTable::find(std::uint32_t left, std::uint32_t right) const {
  return slots_[place(pair_of(left, right))].rule;
}

void MergeTable::merge(std::vector<std::uint32_t>& symbols, std::vector<Made>* made) const {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShort) {
    merge_short(symbols, made);
  } else {
    merge_long(symbols, made);
  }
}

void MergeTable::merge_short(std::vector<std::uint32_t>& symbols, std::vector<Made>* made) const {
  std::array<Rule, kShort> rules;  // rules[i] joins symbols i and i + 1.
  std::size_t n = symbols.size();
  for (std::size_t i = 0; i + 1 < n; ++i) rules[i] = find(symbols[i], symbols[i + 1]);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i) {
      if (rules[i].priority < rules[best].priority) best = i;
    }
    if (rules[best].priority == kNone) break;
    if (made != nullptr) made->push_back({rules[best].result, symbols[best], symbols[best + 1]});
    symbols[best] = rules[best].result;
    for (std::size_t i = best + 1; i + 1 < n; ++i) symbols[i] = symbols[i + 1];
    for (std::size_t i = best + 1; i + 2 < n; ++i) rules[i] = rules[i + 1];
    --n;
    if (best > 0) rules[best - 1] = find(symbols[best - 1], symbols[best]);
    if (best + 1 < n) rules[best] = find(symbols[best], symbols[best + 1]);
  }
  symbols.resize(n);
}

void MergeTable::merge_long(std::vector<std::uint32_t>& symbols, std::vector<Made>* made) const {
  // A doubly linked list over the symbols' places; a consumed place holds kNone.
  struct Links {
    std::uint32_t before, after;
  };
  struct Candidate {
    std::uint64_t order;  // Priority, then place.
    std::uint32_t left, right, result;
    bool operator<(const Candidate& other) const { return order > other.order; }
  };
  const auto n = static_cast<std::uint32_t>(symbols.size());
  std::vector<Links> links(n);
  std::vector<Candidate> first;
  first.reserve(n);
  const auto candidate = [&](std::uint32_t at, std::uint32_t next, auto&& take) {
    const Rule rule = find(symbols[at], symbols[next]);
    if (rule.priority != kNone) {
      take(Candidate{std::uint64_t{rule.priority} << 32 | at, symbols[at], symbols[next],
                     rule.result});
    }
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    links[i] = {i == 0 ? kNone : i - 1, i + 1 == n ? kNone : i + 1};
    if (i + 1 < n) candidate(i, i + 1, [&](const Candidate& c) { first.push_back(c); });
  }
  std::priority_queue<Candidate> queue(std::less<Candidate>{}, std::move(first));
  const auto push = [&](const Candidate& c) { queue.push(c); };
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    const auto at = static_cast<std::uint32_t>(top.order);
    const std::uint32_t next = links[at].after;
    // Stale when either side has since been merged away or has grown.
    if (symbols[at] != top.left || next == kNone || symbols[next] != top.right) continue;
    if (made != nullptr) made->push_back({top.result, top.left, top.right});
    symbols[at] = top.result;
    symbols[next] = kNone;
    links[at].after = links[next].after;
    if (links[at].after != kNone) links[links[at].after].before = at;
    if (links[at].before != kNone) candidate(links[at].before, at, push);
    if (links[at].after != kNone) candidate(at, links[at].after, push);
  }
  std::erase(symbols, kNone);
}

}  // namespace weir::text
