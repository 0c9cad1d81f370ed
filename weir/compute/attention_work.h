#pragma once

/// The pieces of attention: a group of positions, folded into a query's result. Internal.
///
/// Positions are cut into groups of 128 counted from position 0. A group yields, for one query
/// vector, a partial: its largest score m, the sum l of exp(s - m), and the sum o of exp(s - m) v,
/// each reduced in one fixed order over the positions the query sees. Partials are folded in the
/// order of groups. So neither the chunk a query came in, nor its neighbours, nor who computed
/// which group can show. Thread safety: pure functions over the caller's memory.

#include <cstdint>

#include "weir/base/ids.h"
#include "weir/compute/attention.h"

namespace weir::compute {

inline constexpr std::uint32_t kGroupPages = 8;
inline constexpr std::uint32_t kGroupPositions = kGroupPages * kPageTokens;

/// Query vectors (a row's head each) that share one pass over a KV head's pages: 12 sums of 8 lanes
/// are what AVX2's registers hold.
inline constexpr std::uint32_t kTileVectors = 6;

/// A partial is m, l, padding to a cache line, then o.
inline constexpr std::uint64_t kPartialHeader = 16;

struct AttentionTile {
  const KvArena* arena = nullptr;
  const AttentionShape* shape = nullptr;
  const AttentionRows* rows = nullptr;
  std::uint32_t kv_head = 0;
  std::uint32_t vectors = 0;
  std::uint32_t begin = 0, end = 0;        ///< Positions some vector sees.
  const float* query[kTileVectors] = {};   ///< [head_dim]
  std::uint32_t first[kTileVectors] = {};  ///< First and last position each sees.
  std::uint32_t last[kTileVectors] = {};
  float* partial[kTileVectors] = {};  ///< [kPartialHeader + value_stride]
};

struct AttentionState {
  bool empty = true;
  float largest = 0.0F;
  float sum = 0.0F;
};

/// Fills tile.partial for the positions of `group`. A vector that sees none of them gets l = 0.
/// REQUIRES: the tile sees some of them.
void attend_group(const AttentionTile& tile, std::uint32_t group);

/// Folds a partial with l != 0 into state and out [width].
void fold_partial(const float* partial, std::uint64_t width, AttentionState& state, float* out);

}  // namespace weir::compute
