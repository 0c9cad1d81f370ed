#pragma once

/// Attention of query rows over a sequence's pages. Each query row is reduced over the positions it
/// sees in one fixed order (page by page from the first page it sees, merged in groups fixed by
/// absolute position), so its result depends neither on the chunk it arrived in nor on its
/// neighbours. Thread safety: pure functions over the arena; called by all workers of a team.

#include <cstdint>
#include <span>

#include "weir/base/ids.h"
#include "weir/compute/kv_arena.h"
#include "weir/compute/thread_pool.h"

namespace weir::compute {

/// Rows of one sequence: query row i sits at position first_position + i and sees the positions
/// max(0, position - window + 1) .. position (window 0: all of them).
struct AttentionRows {
  const float* q = nullptr;    ///< [rows, heads, head_dim], RoPE applied.
  float* out = nullptr;        ///< [rows, heads, head_dim]
  std::uint64_t q_stride = 0;  ///< Floats between rows of q.
  std::uint64_t out_stride = 0;
  std::uint32_t rows = 0;
  std::uint32_t first_position = 0;
  std::span<const PageId> pages;  ///< Cover positions 0 .. first_position + rows - 1.
};

struct AttentionShape {
  std::uint32_t layer = 0;
  std::uint32_t heads = 0;
  float scale = 1.0F;
  float soft_cap = 0.0F;     ///< 0 is none.
  std::uint32_t window = 0;  ///< 0 is none.
};

/// What is left to do to rows before they can be attended, for callers who would rather have it
/// done where it is needed than before one more barrier.
class AttentionRowMaker {
 public:
  virtual ~AttentionRowMaker() = default;
  /// `q` [heads, head_dim] is a copy of what rows.q has of the query heads from `first` on; makes
  /// of it what is attended with. Called by every worker that has a part of the row.
  virtual void make_queries(std::size_t sequence, std::uint32_t first, std::uint32_t heads,
                            float* q) const = 0;
  /// Writes K and V of the row to its page. Called by one worker, who alone reads that page's
  /// record in this call; other heads and rows are at work meanwhile.
  virtual void store_keys_and_values(std::size_t sequence, std::uint32_t kv_head) const = 0;
};

/// The team shares the (sequence, row, KV head, positions) work, in its scratch. K and V of all
/// rows are already in the arena. All workers call it; the caller's barrier comes before `out` is
/// read and before the scratch is used again.
///
/// With a `maker`, every sequence has one row, whose K and V are not in the arena yet and whose
/// queries are not ready. REQUIRES: no two sequences share the page of their last position.
void attend(const ThreadPool::Team& team, const KvArena& arena, const AttentionShape& shape,
            std::span<const AttentionRows> sequences, const AttentionRowMaker* maker = nullptr);

}  // namespace weir::compute
