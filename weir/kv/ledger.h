#pragma once

/// Who holds which KV pages: the block tables of all sequences, over one pool and one prefix tree.
/// The scheduler asks it for room; the engine reads its tables and carries out its copies.
///
/// A sequence's table covers positions 0 .. n in pages of kPageTokens. Full pages whose keys and
/// values have been computed are published in the prefix tree and may be shared; a page shared by a
/// fork is copied before it is written (copy-on-write). Sharing never crosses a Namespace.
///
/// Room is counted in units (spec/kv_units.h), which are free, held or cached. A page's whole units
/// are held while a table has it. Its windowed units are held while it is in the window of some
/// table; once every window has moved past they are cached, and the first to be evicted, or free at
/// once if the page is not remembered. A prompt's beginning is found only as far as the windowed
/// units are there for what a row after it reads. Books: free + held + cached = total, and
/// references = table entries + pinned copies, of pages and of windows; check() proves it.
/// A sequence's priority says how long its pages are remembered, and whose use of them counts.
/// Thread safety: none; one owner.

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "weir/base/ids.h"
#include "weir/kv/held_by_class.h"
#include "weir/kv/page_store.h"
#include "weir/spec/kv_units.h"
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
  std::uint32_t units = 0;
  KvUnits shape = {};
  /// Page ids; 0: as many as whole units allow. REQUIRES: set where the shape has none of these.
  std::uint32_t pages = 0;
  bool prefix_cache = true;
  std::uint32_t max_cached = 0xFFFFFFFF;  ///< Units the cache may keep beside what sequences hold.
  /// The fewest tokens of a partly equal page worth a copy: copying a page costs about what
  /// computing a quarter of a token does, so one is enough; 2 keeps chance agreement out.
  std::uint32_t min_copied_tokens = 2;
};

struct LedgerStats {
  std::uint64_t queried_tokens = 0;  ///< Prompt tokens looked up.
  std::uint64_t hit_tokens = 0;      ///< Of those, found.
  std::uint64_t copied_pages = 0;
  std::uint64_t merged_pages = 0;  ///< Equal pages computed twice at once, made one again.
};

class Ledger {
 public:
  explicit Ledger(const LedgerOptions& options);

  struct Match {
    std::uint32_t tokens = 0;  ///< In memory. Never all of a prompt: one at least is computed.
    /// Whole units of full pages of them that others hold: sharing takes no room. Windowed units
    /// that are shared now need not be shared as long as either needs them.
    std::uint32_t held_units = 0;
  };
  /// What open() would find; changes nothing.
  [[nodiscard]] Match match(Namespace space, std::span<const TokenId> prompt) const;

  /// Begins a sequence with what the cache has of its prompt; returns the tokens that need no
  /// prefill.
  /// REQUIRES: priority < kPriorities.
  std::uint32_t open(SequenceId id, Namespace space, std::uint8_t priority,
                     std::span<const TokenId> prompt);

  /// Makes the table cover `positions`, with the last page writable. All or nothing; may evict
  /// what is cached.
  [[nodiscard]] bool reserve(SequenceId id, std::uint32_t positions);
  /// Room in its table for as many positions, so that growing to them allocates nothing.
  void expect(SequenceId id, std::uint32_t positions);
  /// Units that reserve() would have to take.
  [[nodiscard]] std::uint32_t units_needed(SequenceId id, std::uint32_t positions) const;
  /// Units that can be had: free ones and cached ones.
  [[nodiscard]] std::uint32_t available() const { return store_.available(); }
  [[nodiscard]] std::uint32_t total() const { return units().total(); }
  [[nodiscard]] std::uint32_t cached() const { return store_.cached(); }
  [[nodiscard]] std::uint32_t held() const { return total() - available(); }
  /// Units that sequences of this priority or a higher one hold, each counted once.
  [[nodiscard]] std::uint32_t held_from(std::uint8_t priority) const {
    return classes_.units(priority);
  }
  /// Units that this sequence holds, be it with others,
  [[nodiscard]] std::uint32_t held_by(SequenceId id) const;
  /// and those that it alone holds.
  [[nodiscard]] std::uint32_t held_only_by(SequenceId id) const;

  /// Whether the windowed units that a row after the first `positions` reads are there.
  [[nodiscard]] bool can_fork(SequenceId from, std::uint32_t positions) const;
  /// A second sequence that shares the pages of the first `positions` (n > 1 answers to one
  /// prompt). REQUIRES: `positions` of `from` have been computed; can_fork().
  void fork(SequenceId from, SequenceId to, std::uint8_t priority, std::uint32_t positions);

  /// `tokens` up to `computed` positions have their keys and values: full pages become shareable,
  /// and windowed units that no row after them reads are not held any more.
  /// REQUIRES: no copies are pending where positions are new.
  void advance(SequenceId id, std::span<const TokenId> tokens, std::uint32_t computed);

  /// Ends a sequence: advances to what it computed, then gives its pages back.
  void close(SequenceId id, std::span<const TokenId> tokens, std::uint32_t computed);

  [[nodiscard]] std::span<const PageId> table(SequenceId id) const { return at(id).pages; }
  [[nodiscard]] bool contains(SequenceId id) const { return sequences_.contains(id); }

  /// Copies that the coming step must carry out first, in order.
  [[nodiscard]] std::span<const PageCopy> copies() const { return copies_; }
  void copies_done();

  [[nodiscard]] const PagePool& pool() const { return store_.pool(); }
  /// Which units stand behind the pages of all tables: for compute/kv_arena.h.
  [[nodiscard]] const UnitTable& units() const { return store_.units(); }
  [[nodiscard]] const LedgerStats& stats() const { return stats_; }
  [[nodiscard]] const PageStore::Evicted& evicted() const { return store_.evicted(); }
  [[nodiscard]] std::size_t sequences() const { return sequences_.size(); }

  /// Aborts when the books do not balance. O(pages + sequences).
  void check() const;

 private:
  struct Sequence {
    Namespace space{};
    std::uint8_t priority = 0;
    std::vector<PageId> pages;
    std::uint32_t first_windowed = 0;  ///< The windowed units of these pages and later ones count.
    NodeId tip = kNoNode;              ///< The node of the last published page.
    std::uint32_t published = 0;       ///< Full pages that are in the tree.
  };
  /// The longest beginning of a prompt that can be had.
  struct Found {
    NodeId tip = kNoNode;     ///< Of the last full page,
    std::uint32_t pages = 0;  ///< of so many,
    PrefixTree::Partial partial;
    [[nodiscard]] std::uint32_t tokens() const { return pages * kPageTokens + partial.tokens; }
  };
  [[nodiscard]] const Sequence& at(SequenceId id) const;
  [[nodiscard]] Sequence& at(SequenceId id);
  /// Whether the page that will be written next is somebody else's too.
  [[nodiscard]] bool tail_is_shared(const Sequence& s) const;
  [[nodiscard]] Found look_up(Namespace space, std::span<const TokenId> prompt) const;
  /// Full pages whose values are known become shareable, or one with what holds the same.
  void publish(Sequence& s, std::span<const TokenId> tokens, std::uint32_t computed);
  /// The windowed units of a page that is to give way to its twin, which has none, become the
  /// twin's, for all who hold the page.
  void hand_window_over(std::uint32_t at, PageId page, PageId twin);
  void move_window(Sequence& s, std::uint32_t computed);

  [[nodiscard]] std::uint32_t pages_needed(const Sequence& s, std::uint32_t positions) const;
  /// A page comes into a sequence's table, or leaves it.
  void enter(const Sequence& s, PageId page, bool windowed);
  void leave(const Sequence& s, PageId page, bool windowed);
  /// The page at `at` of a table gives way to another.
  void replace(Sequence& s, std::uint32_t at, PageId page);
  void copy(PageId from, PageId to, std::uint32_t slots);

  LedgerOptions options_;
  PageStore store_;
  HeldByClass classes_;
  std::unordered_map<SequenceId, Sequence> sequences_;
  std::vector<PageCopy> copies_;
  LedgerStats stats_;
};

}  // namespace weir::kv
