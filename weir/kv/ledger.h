#pragma once

/// Who holds which KV pages: the block tables of all sequences, over one pool and one prefix tree.
/// The scheduler asks it for room; the engine reads its tables and carries out its copies.
///
/// A sequence's table covers positions 0 .. n in pages of kPageTokens. Full pages whose keys and
/// values have been computed are published in the prefix tree and may be shared; a page shared by a
/// fork is copied before it is written (copy-on-write). Sharing never crosses a Namespace. Books:
/// free + held + cached = total, and references = table entries + pinned copies; check() proves it.
/// A sequence's priority says how long its pages are remembered, and whose use of them counts.
/// Thread safety: none; one owner.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "weir/base/ids.h"
#include "weir/kv/page_pool.h"
#include "weir/kv/prefix_tree.h"
#include "weir/spec/priority.h"

namespace weir::kv {

enum class SequenceId : std::uint64_t {};

/// Copy the first `slots` positions of one page to another, in every layer, before the step that
/// announced it computes anything. The source stays held until copies_done().
struct PageCopy {
  PageId from;
  PageId to;
  std::uint32_t slots;
};

struct LedgerOptions {
  std::uint32_t pages = 0;
  bool prefix_cache = true;
  std::uint32_t max_cached = 0xFFFFFFFF;  ///< Pages the cache may keep beside what sequences hold.
  /// The fewest tokens of a partly equal page worth a copy: copying a page costs about what
  /// computing a quarter of a token does, so one is enough; 2 keeps chance agreement out.
  std::uint32_t min_copied_tokens = 2;
};

struct LedgerStats {
  std::uint64_t queried_tokens = 0;  ///< Prompt tokens looked up.
  std::uint64_t hit_tokens = 0;      ///< Of those, found.
  std::uint64_t evicted_pages = 0;
  std::uint64_t copied_pages = 0;
  std::uint64_t merged_pages = 0;  ///< Equal pages computed twice at once, made one again.
};

class Ledger {
 public:
  explicit Ledger(const LedgerOptions& options);

  struct Match {
    std::uint32_t tokens = 0;      ///< In memory. Never all of a prompt: one at least is computed.
    std::uint32_t held_pages = 0;  ///< Full pages of them that others hold: sharing takes no room.
  };
  /// What open() would find; changes nothing.
  [[nodiscard]] Match match(Namespace space, std::span<const TokenId> prompt) const;

  /// Begins a sequence with what the cache has of its prompt; returns the tokens that need no
  /// prefill.
  /// REQUIRES: priority < kPriorities.
  std::uint32_t open(SequenceId id, Namespace space, std::uint8_t priority,
                     std::span<const TokenId> prompt);

  /// Makes the table cover `positions`, with the last page writable. All or nothing; may evict
  /// cached pages.
  [[nodiscard]] bool reserve(SequenceId id, std::uint32_t positions);
  /// Room in its table for as many positions, so that growing to them allocates nothing.
  void expect(SequenceId id, std::uint32_t positions);
  /// Pages that reserve() would have to take.
  [[nodiscard]] std::uint32_t pages_needed(SequenceId id, std::uint32_t positions) const;
  /// Pages that can be had: free ones and cached ones.
  [[nodiscard]] std::uint32_t available() const { return pool_.free() + pool_.cached(); }
  /// Pages in the tables of sequences of this priority or a higher one, each counted once.
  [[nodiscard]] std::uint32_t held_from(std::uint8_t priority) const {
    return priority < kPriorities ? holders_[priority].pages : 0;
  }

  /// A second sequence that shares the pages of the first `positions` (n > 1 answers to one
  /// prompt). REQUIRES: `positions` of `from` have been computed.
  void fork(SequenceId from, SequenceId to, std::uint8_t priority, std::uint32_t positions);

  /// `tokens` up to `computed` positions have their keys and values: full pages become shareable.
  void publish(SequenceId id, std::span<const TokenId> tokens, std::uint32_t computed);

  /// Ends a sequence: publishes what it computed, then gives its pages back.
  void close(SequenceId id, std::span<const TokenId> tokens, std::uint32_t computed);

  [[nodiscard]] std::span<const PageId> table(SequenceId id) const { return at(id).pages; }
  [[nodiscard]] bool contains(SequenceId id) const { return sequences_.contains(id); }

  /// Copies that the coming step must carry out first, in order.
  [[nodiscard]] std::span<const PageCopy> copies() const { return copies_; }
  void copies_done();

  [[nodiscard]] const PagePool& pool() const { return pool_; }
  [[nodiscard]] const LedgerStats& stats() const { return stats_; }
  [[nodiscard]] std::size_t sequences() const { return sequences_.size(); }

  /// Aborts when the books do not balance. O(pages + sequences).
  void check() const;

 private:
  struct Sequence {
    Namespace space{};
    std::uint8_t priority = 0;
    std::vector<PageId> pages;
    NodeId tip = kNoNode;         ///< The node of the last published page.
    std::uint32_t published = 0;  ///< Full pages that are in the tree.
  };
  [[nodiscard]] const Sequence& at(SequenceId id) const;
  [[nodiscard]] Sequence& at(SequenceId id);
  /// Whether the page that will be written next is somebody else's too.
  [[nodiscard]] bool tail_is_shared(const Sequence& s) const;
  [[nodiscard]] std::optional<PageId> take_page();
  void hold(PageId page);
  void drop(PageId page);
  /// A page that is held comes into a sequence's table, or leaves it.
  void enter(const Sequence& s, PageId page);
  void leave(const Sequence& s, PageId page);
  void copy(PageId from, PageId to, std::uint32_t slots);
  void trim_cache();

  LedgerOptions options_;
  PagePool pool_;
  PrefixTree tree_;
  std::unordered_map<SequenceId, Sequence> sequences_;
  struct Holders {
    std::vector<std::uint32_t> tables;  ///< [page]: how many of them have it.
    std::uint32_t pages = 0;            ///< That are in one at least.
  };
  std::array<Holders, kPriorities> holders_;  ///< [priority]: sequences of it and of higher ones.
  std::vector<PageCopy> copies_;
  LedgerStats stats_;
};

}  // namespace weir::kv
