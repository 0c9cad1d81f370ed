#pragma once

/// What the KV pages in memory hold, as a tree of token pages: a node is one page whose tokens
/// follow its parent's. Walking it with a prompt finds the pages that need no prefill
/// (RadixAttention, Zheng et al. 2024, with fixed page edges; PagedAttention, Kwon et al. 2023,
/// section 4.4).
///
/// Trees of different namespaces (tenant, adapter, model) never meet. A hit is verified token by
/// token, never by hash alone. Eviction takes leaves that nobody holds: lowest priority first, then
/// least recently used, by a sequence number and never by a clock. Thread safety: none; one owner.

#include <array>
#include <cstdint>
#include <memory_resource>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "weir/base/ids.h"
#include "weir/kv/page_pool.h"

namespace weir::kv {

/// An interned (tenant, adapter, model fingerprint); the owner of the ledger hands them out.
enum class Namespace : std::uint64_t {};
enum class NodeId : std::uint32_t {};
inline constexpr NodeId kNoNode{0xFFFFFFFF};

class PrefixTree {
 public:
  /// Takes all the memory it will ever need for `pool`'s pages, so that no step allocates.
  explicit PrefixTree(PagePool& pool);

  /// The child of `parent` (kNoNode: a root of `space`) that holds exactly these tokens, or
  /// kNoNode.
  [[nodiscard]] NodeId find(Namespace space, NodeId parent, std::span<const TokenId> tokens) const;

  struct Partial {
    NodeId node = kNoNode;
    std::uint32_t tokens = 0;  ///< How many of its first tokens agree, 0 .. kPageTokens.
  };
  /// The child that agrees longest with `tokens`. Looks at the kMaxSiblings newest children only.
  [[nodiscard]] Partial find_partial(Namespace space, NodeId parent,
                                     std::span<const TokenId> tokens) const;

  /// Remembers that `page` (held by the caller) holds `tokens` after `parent`. 1 to kPageTokens
  /// tokens; only a full page can have children. REQUIRES: find() gave kNoNode.
  NodeId insert(Namespace space, NodeId parent, std::span<const TokenId> tokens, PageId page,
                std::uint8_t priority);

  [[nodiscard]] NodeId node_of(PageId page) const { return node_of_[index(page)]; }
  [[nodiscard]] PageId page(NodeId node) const { return nodes_[at(node)].page; }
  /// Marks as used now; the higher priority of the two stays.
  void touch(NodeId node, std::uint8_t priority);
  /// The owner tells when a page lost its last reference or got its first. Pages of no node are
  /// ignored.
  void reference_changed(PageId page);

  /// Forgets the least valuable leaf that nobody holds; false when there is none.
  bool evict_one();
  [[nodiscard]] std::size_t size() const { return live_; }

  /// Aborts when tree, index and pool disagree. O(size).
  void check() const;

 private:
  static constexpr int kMaxSiblings = 16;
  struct Node {
    Namespace space{};
    NodeId parent = kNoNode;
    NodeId first_child = kNoNode;  ///< Newest first.
    NodeId next = kNoNode;         ///< Siblings.
    NodeId previous = kNoNode;
    PageId page{};
    std::uint64_t hash = 0;
    std::uint64_t used = 0;
    std::uint8_t priority = 0;
    std::uint8_t count = 0;  ///< Tokens; 0 marks a node that is not in use.
    std::array<TokenId, kPageTokens> tokens{};
  };
  using Evictable = std::tuple<std::uint8_t, std::uint64_t, std::uint32_t>;  // priority, used, node

  static std::uint32_t at(NodeId node) { return static_cast<std::uint32_t>(node); }
  [[nodiscard]] static std::uint64_t hash_of(Namespace space, NodeId parent,
                                             std::span<const TokenId> tokens);
  [[nodiscard]] NodeId first_child(Namespace space, NodeId parent) const;
  void set_first_child(Namespace space, NodeId parent, NodeId child);
  [[nodiscard]] bool is_evictable(const Node& node) const;
  void index_evictable(NodeId node, bool in);
  void reindex(NodeId node) { index_evictable(node, is_evictable(nodes_[at(node)])); }

  PagePool& pool_;
  /// Feeds the indices: room for every page, recycled.
  std::pmr::monotonic_buffer_resource room_;
  std::pmr::unsynchronized_pool_resource recycled_{&room_};
  std::vector<Node> nodes_;
  std::vector<NodeId> node_of_;  ///< By page.
  std::vector<NodeId> unused_;
  std::pmr::unordered_multimap<std::uint64_t, NodeId> by_hash_{&recycled_};
  std::unordered_map<std::uint64_t, NodeId> roots_;  ///< Namespace to its newest root.
  std::pmr::set<Evictable> evictable_{&recycled_};   ///< Leaves without references.
  std::uint64_t now_ = 0;                            ///< The sequence number of uses.
  std::size_t live_ = 0;
};

}  // namespace weir::kv
