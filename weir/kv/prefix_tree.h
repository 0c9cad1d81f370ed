#pragma once

/// What the KV pages in memory hold, as a tree of token pages: a node is one page whose tokens
/// follow its parent's. Walking it with a prompt finds the pages that need no prefill
/// (RadixAttention, Zheng et al. 2024, with fixed page edges; PagedAttention, Kwon et al. 2023,
/// section 4.4).
///
/// Trees of different namespaces (tenant, adapter, model) never meet. A hit is verified token by
/// token, never by hash alone. Eviction takes leaves that nobody holds: lowest priority first, then
/// least recently used, by a sequence number and never by a clock. Where windows let a page's
/// windowed units go early (spec/kv_units.h) the tree remembers which page's could go, or are gone;
/// a leaf that lacks them is of no use, since no prompt can end there, and is the first to go.
/// Thread safety: none; one owner.

#include <array>
#include <cstdint>
#include <memory_resource>
#include <optional>
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

/// A remembered page's windowed units.
enum class Windowed : std::uint8_t {
  kKept,   ///< Stay as long as the page does.
  kSpare,  ///< Every window has moved past them: may be taken alone.
  kGone,
};

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
  [[nodiscard]] NodeId parent(NodeId node) const { return nodes_[at(node)].parent; }
  [[nodiscard]] bool has_windowed(NodeId node) const {
    return nodes_[at(node)].windowed != Windowed::kGone;
  }
  /// Pages of no node are ignored.
  void set_windowed(PageId page, Windowed windowed);
  /// Marks as used now; the higher priority of the two stays.
  void touch(NodeId node, std::uint8_t priority);
  /// The owner tells when a page lost its last reference or got its first. Pages of no node are
  /// ignored.
  void reference_changed(PageId page);

  /// Forgets the least valuable leaf that nobody holds and returns its page, if there is one.
  std::optional<PageId> evict_one();
  /// Of the pages whose windowed units are spare the least valuable.
  [[nodiscard]] std::optional<PageId> least_spare() const;
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
    Windowed windowed = Windowed::kKept;
    std::array<TokenId, kPageTokens> tokens{};
  };
  /// Whether it is of use, priority, used, node.
  using Value = std::tuple<bool, std::uint8_t, std::uint64_t, std::uint32_t>;

  static std::uint32_t at(NodeId node) { return static_cast<std::uint32_t>(node); }
  [[nodiscard]] static std::uint64_t hash_of(Namespace space, NodeId parent,
                                             std::span<const TokenId> tokens);
  [[nodiscard]] NodeId first_child(Namespace space, NodeId parent) const;
  void set_first_child(Namespace space, NodeId parent, NodeId child);
  [[nodiscard]] bool is_evictable(const Node& node) const;
  [[nodiscard]] Value value_of(NodeId node) const;
  /// Out of the indices while what they order by changes, then in again.
  void unindex(NodeId node);
  void reindex(NodeId node);

  PagePool& pool_;
  /// Feeds the indices: room for every page, recycled.
  std::pmr::monotonic_buffer_resource room_;
  std::pmr::unsynchronized_pool_resource recycled_{&room_};
  std::vector<Node> nodes_;
  std::vector<NodeId> node_of_;  ///< By page.
  std::vector<NodeId> unused_;
  std::pmr::unordered_multimap<std::uint64_t, NodeId> by_hash_{&recycled_};
  std::unordered_map<std::uint64_t, NodeId> roots_;  ///< Namespace to its newest root.
  std::pmr::set<Value> evictable_{&recycled_};       ///< Leaves without references.
  std::pmr::set<Value> spare_{&recycled_};           ///< Whose windowed units are spare.
  std::uint64_t now_ = 0;                            ///< The sequence number of uses.
  std::size_t live_ = 0;
};

}  // namespace weir::kv
