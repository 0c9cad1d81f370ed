#pragma once

/// The pieces of attention: a group of positions, folded into a query's result. Internal.
///
/// Positions are cut into groups of 128 counted from position 0. A group yields, for one query
/// vector, a partial: its largest score m, the sum l of exp(s - m), and the sum o of exp(s - m) v,
/// each reduced in one fixed order over the positions the query sees. Partials are folded in the
/// order of groups. So neither the chunk a query came in, nor its neighbours, nor who computed
/// which group can show. Thread safety: pure functions over the caller's memory.

#include <cstdint>
#include <span>

#include "weir/base/ids.h"
#include "weir/compute/attention.h"

namespace weir::compute {

inline constexpr std::uint32_t kGroupPages = 8;
inline constexpr std::uint32_t kGroupPositions = kGroupPages * kPageTokens;

/// Query vectors (a row's head each) that share one pass over a KV head's pages: 12 sums of 8 lanes
/// are what AVX2's registers hold, 24 of 16 lanes (four pages at once) AVX-512's.
inline constexpr std::uint32_t kTileVectors = 6;

/// A partial is m, l, padding to a cache line, then o.
inline constexpr std::uint64_t kPartialHeader = 16;

/// A query in the form its KV type is multiplied with is two words (of bytes: a step, and what the
/// offset of the codes adds), padding to a cache line, then its factors.
inline constexpr std::uint64_t kQueryHeader = 16;

struct AttentionTile {
  const KvArena* arena = nullptr;
  const AttentionShape* shape = nullptr;
  const AttentionRows* rows = nullptr;
  std::uint32_t kv_head = 0;
  std::uint32_t vectors = 0;
  std::uint32_t begin = 0, end = 0;                 ///< Positions some vector sees.
  const float* query[kTileVectors] = {};            ///< [head_dim]
  const std::uint32_t* factors[kTileVectors] = {};  ///< Made of it by prepare_queries().
  std::uint32_t first[kTileVectors] = {};           ///< First and last position each sees.
  std::uint32_t last[kTileVectors] = {};
  float* partial[kTileVectors] = {};  ///< [kPartialHeader + value_stride]
};

/// What will be read next, a group's records: they are fetched while this group is computed, evenly
/// over its time, since a core has far fewer reads under way than a page has lines.
struct AttentionAhead {
  const std::byte* record[kGroupPages] = {};
  std::uint32_t pages = 0;  ///< 0: nothing.
};

/// One query vector's result so far: of the groups folded, the largest score, the sum of weights,
/// and the weighted sum of values in `out` [head_dim].
struct AttentionState {
  float* out = nullptr;
  bool empty = true;
  float largest = 0.0F;
  float sum = 0.0F;
};

/// Fills tile.factors, in `words` [vectors, kQueryHeader + value_stride].
void prepare_queries(AttentionTile& tile, std::uint32_t* words);

/// The records of the tile's `group`.
[[nodiscard]] AttentionAhead records_of(const AttentionTile& tile, std::uint32_t group);

/// Fills tile.partial for the positions of `group`. A vector that sees none of them gets l = 0.
/// REQUIRES: the tile sees some of them; its queries are prepared.
void attend_group(const AttentionTile& tile, std::uint32_t group, const AttentionAhead& ahead);

/// Folds the next group's partial of each vector, those with l = 0 left out.
/// REQUIRES: as many partials as states, at most kTileVectors.
void fold_partials(std::span<const float* const> partials, std::uint64_t head_dim,
                   std::span<AttentionState> states);
/// After the last group: divides by the sum.
void finish_folding(std::uint64_t head_dim, std::span<AttentionState> states);

}  // namespace weir::compute
