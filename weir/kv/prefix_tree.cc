#include "weir/kv/prefix_tree.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir::kv {
namespace {

/// The finaliser of SplitMix64 (Steele et al. 2014): every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ x >> 27) * 0x94D049BB133111EBULL;
  return x ^ x >> 31;
}

/// Of the three indices, for one page: a node of each with its overhead, and a bucket.
constexpr std::size_t kIndexBytes = 352;

}  // namespace

PrefixTree::PrefixTree(PagePool& pool)
    : pool_(pool), room_(kIndexBytes * pool.total()), node_of_(pool.total(), kNoNode) {
  nodes_.reserve(pool.total());
  unused_.reserve(pool.total());
  by_hash_.reserve(pool.total());
}

std::uint64_t PrefixTree::hash_of(Namespace space, NodeId parent, std::span<const TokenId> tokens) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(space) + 0x9E3779B97F4A7C15ULL) ^ at(parent);
  for (TokenId token : tokens)
    h = mix(h + static_cast<std::uint32_t>(token) + 0x9E3779B97F4A7C15ULL);
  return h;
}

NodeId PrefixTree::first_child(Namespace space, NodeId parent) const {
  if (parent != kNoNode) return nodes_[at(parent)].first_child;
  const auto it = roots_.find(static_cast<std::uint64_t>(space));
  return it == roots_.end() ? kNoNode : it->second;
}

void PrefixTree::set_first_child(Namespace space, NodeId parent, NodeId child) {
  if (parent != kNoNode) {
    nodes_[at(parent)].first_child = child;
  } else if (child == kNoNode) {
    roots_.erase(static_cast<std::uint64_t>(space));
  } else {
    roots_[static_cast<std::uint64_t>(space)] = child;
  }
}

NodeId PrefixTree::find(Namespace space, NodeId parent, std::span<const TokenId> tokens) const {
  const auto [begin, end] = by_hash_.equal_range(hash_of(space, parent, tokens));
  for (auto it = begin; it != end; ++it) {
    const Node& n = nodes_[at(it->second)];
    if (n.space == space && n.parent == parent && n.count == tokens.size() &&
        std::equal(tokens.begin(), tokens.end(), n.tokens.begin())) {
      return it->second;
    }
  }
  return kNoNode;
}

PrefixTree::Partial PrefixTree::find_partial(Namespace space, NodeId parent,
                                             std::span<const TokenId> tokens) const {
  Partial best;
  int looked = 0;
  for (NodeId id = first_child(space, parent); id != kNoNode && looked < kMaxSiblings;
       id = nodes_[at(id)].next, ++looked) {
    const Node& n = nodes_[at(id)];
    const std::size_t reach = std::min<std::size_t>(n.count, tokens.size());
    std::uint32_t same = 0;
    while (same < reach && n.tokens[same] == tokens[same]) ++same;
    if (same > best.tokens) best = {id, same};
  }
  return best;
}

NodeId PrefixTree::insert(Namespace space, NodeId parent, std::span<const TokenId> tokens,
                          PageId page, std::uint8_t priority) {
  WEIR_CHECK(!tokens.empty() && tokens.size() <= kPageTokens, "a node holds one page of tokens");
  WEIR_CHECK(parent == kNoNode || nodes_[at(parent)].count == kPageTokens,
             "only a full page has children");
  pool_.remember(page);
  NodeId id;
  if (unused_.empty()) {
    id = NodeId{static_cast<std::uint32_t>(nodes_.size())};
    nodes_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  if (parent != kNoNode) evictable_.erase(value_of(parent));
  Node& n = nodes_[at(id)];
  n = Node{};
  n.space = space;
  n.parent = parent;
  n.page = page;
  n.hash = hash_of(space, parent, tokens);
  n.used = ++now_;
  n.priority = priority;
  n.count = static_cast<std::uint8_t>(tokens.size());
  std::copy(tokens.begin(), tokens.end(), n.tokens.begin());
  n.next = first_child(space, parent);
  if (n.next != kNoNode) nodes_[at(n.next)].previous = id;
  set_first_child(space, parent, id);
  by_hash_.emplace(n.hash, id);
  node_of_[index(page)] = id;
  ++live_;
  return id;  // Held by the caller, so not evictable yet.
}

bool PrefixTree::is_evictable(const Node& n) const {
  return n.first_child == kNoNode && pool_.references(n.page) == 0;
}

PrefixTree::Value PrefixTree::value_of(NodeId node) const {
  const Node& n = nodes_[at(node)];
  return {n.windowed != Windowed::kGone, n.priority, n.used, at(node)};
}

void PrefixTree::unindex(NodeId node) {
  const Value value = value_of(node);
  evictable_.erase(value);
  if (nodes_[at(node)].windowed == Windowed::kSpare) spare_.erase(value);
}

void PrefixTree::reindex(NodeId node) {
  const Node& n = nodes_[at(node)];
  if (is_evictable(n)) evictable_.insert(value_of(node));
  if (n.windowed == Windowed::kSpare) spare_.insert(value_of(node));
}

void PrefixTree::touch(NodeId node, std::uint8_t priority) {
  unindex(node);
  Node& n = nodes_[at(node)];
  n.used = ++now_;
  n.priority = std::max(n.priority, priority);
  reindex(node);
}

void PrefixTree::reference_changed(PageId page) {
  const NodeId node = node_of_[index(page)];
  if (node == kNoNode) return;
  if (is_evictable(nodes_[at(node)])) {
    evictable_.insert(value_of(node));
  } else {
    evictable_.erase(value_of(node));
  }
}

void PrefixTree::set_windowed(PageId page, Windowed windowed) {
  const NodeId node = node_of_[index(page)];
  if (node == kNoNode || nodes_[at(node)].windowed == windowed) return;
  unindex(node);
  nodes_[at(node)].windowed = windowed;
  reindex(node);
}

std::optional<PageId> PrefixTree::least_spare() const {
  if (spare_.empty()) return std::nullopt;
  return nodes_[std::get<3>(*spare_.begin())].page;
}

std::optional<PageId> PrefixTree::evict_one() {
  if (evictable_.empty()) return std::nullopt;
  const NodeId id{std::get<3>(*evictable_.begin())};
  unindex(id);
  Node& n = nodes_[at(id)];
  const auto [begin, end] = by_hash_.equal_range(n.hash);
  for (auto it = begin; it != end; ++it) {
    if (it->second == id) {
      by_hash_.erase(it);
      break;
    }
  }
  if (n.previous == kNoNode) {
    set_first_child(n.space, n.parent, n.next);
  } else {
    nodes_[at(n.previous)].next = n.next;
  }
  if (n.next != kNoNode) nodes_[at(n.next)].previous = n.previous;
  node_of_[index(n.page)] = kNoNode;
  pool_.forget(n.page);
  n.count = 0;
  unused_.push_back(id);
  --live_;
  if (n.parent != kNoNode) reindex(n.parent);
  return n.page;
}

void PrefixTree::check() const {
  std::size_t live = 0;
  std::size_t evictable = 0;
  std::size_t spare = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& n = nodes_[i];
    if (n.count == 0) continue;
    ++live;
    const NodeId id{static_cast<std::uint32_t>(i)};
    WEIR_CHECK(pool_.remembered(n.page), "a node's page is remembered");
    WEIR_CHECK(node_of_[index(n.page)] == id, "a page belongs to one node");
    WEIR_CHECK(find(n.space, n.parent, {n.tokens.data(), n.count}) == id,
               "a node is found by its tokens");
    WEIR_CHECK(n.parent == kNoNode || nodes_[at(n.parent)].count == kPageTokens,
               "a parent is a full page");
    WEIR_CHECK(n.parent == kNoNode || pool_.references(n.page) == 0 ||
                   pool_.references(nodes_[at(n.parent)].page) > 0,
               "whoever holds a page holds those before it");
    WEIR_CHECK(evictable_.contains(value_of(id)) == is_evictable(n),
               "the index of evictable leaves is exact");
    evictable += is_evictable(n);
    WEIR_CHECK(spare_.contains(value_of(id)) == (n.windowed == Windowed::kSpare),
               "the index of spare windowed units is exact");
    spare += n.windowed == Windowed::kSpare;
    for (NodeId c = n.first_child; c != kNoNode; c = nodes_[at(c)].next) {
      WEIR_CHECK(nodes_[at(c)].parent == id, "a child knows its parent");
    }
  }
  WEIR_CHECK(evictable == evictable_.size() && spare == spare_.size(),
             "the indices hold nothing else");
  WEIR_CHECK(live == live_ && by_hash_.size() == live_, "every node is indexed once");
}

}  // namespace weir::kv
