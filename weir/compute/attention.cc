#include "weir/compute/attention.h"

#include <algorithm>

#include "weir/base/check.h"
#include "weir/base/math.h"
#include "weir/compute/attention_work.h"

namespace weir::compute {
namespace {

std::uint32_t first_seen(const AttentionShape& shape, std::uint32_t position) {
  return shape.window == 0 || position < shape.window ? 0 : position - shape.window + 1;
}

/// One sequence's query vectors of one KV head, in order of (row, head): `heads` a row.
struct Queries {
  const KvArena& arena;
  const AttentionShape& shape;
  const AttentionRows& rows;
  std::uint32_t kv_head;
  std::uint32_t heads;  ///< Query heads of a KV head.

  [[nodiscard]] std::uint32_t count() const { return rows.rows * heads; }

  [[nodiscard]] AttentionTile tile(std::uint32_t vector, std::uint32_t vectors) const {
    AttentionTile t{
        .arena = &arena, .shape = &shape, .rows = &rows, .kv_head = kv_head, .vectors = vectors};
    for (std::uint32_t i = 0; i < vectors; ++i) {
      const std::uint32_t row = (vector + i) / heads;
      t.query[i] = rows.q + row * rows.q_stride + head_offset(vector + i);
      t.last[i] = rows.first_position + row;
      t.first[i] = first_seen(shape, t.last[i]);
    }
    t.begin = t.first[0];  // Rows are in order of position.
    t.end = t.last[vectors - 1] + 1;
    return t;
  }
  [[nodiscard]] float* out(std::uint32_t vector) const {
    return rows.out + vector / heads * rows.out_stride + head_offset(vector);
  }

 private:
  [[nodiscard]] std::uint64_t head_offset(std::uint32_t vector) const {
    return (std::uint64_t{kv_head} * heads + vector % heads) * arena.shape().head_dim;
  }
};

void finish(const AttentionState& state, std::uint32_t head_dim, float* out) {
  const float inverse = 1.0F / state.sum;
  for (std::uint32_t d = 0; d < head_dim; ++d) out[d] *= inverse;
}

std::uint64_t partial_floats(const KvArena& arena) {
  return kPartialHeader + KvArena::value_stride(arena.shape());
}

/// All groups of up to kTileVectors query vectors, by one worker.
void attend_tile(const Queries& q, std::uint32_t vector, std::uint32_t vectors, float* scratch) {
  AttentionTile tile = q.tile(vector, vectors);
  AttentionState states[kTileVectors];
  const std::uint32_t head_dim = q.arena.shape().head_dim;
  for (std::uint32_t i = 0; i < vectors; ++i)
    tile.partial[i] = scratch + i * partial_floats(q.arena);
  for (std::uint32_t group = tile.begin / kGroupPositions; group * kGroupPositions < tile.end;
       ++group) {
    attend_group(tile, group);
    for (std::uint32_t i = 0; i < vectors; ++i) {
      if (tile.partial[i][1] != 0.0F)
        fold_partial(tile.partial[i], head_dim, states[i], q.out(vector + i));
    }
  }
  for (std::uint32_t i = 0; i < vectors; ++i) finish(states[i], head_dim, q.out(vector + i));
}

}  // namespace

void attend(const ThreadPool::Team& team, const KvArena& arena, const AttentionShape& shape,
            std::span<const AttentionRows> sequences) {
  const KvShape& kv = arena.shape();
  WEIR_CHECK(shape.heads % kv.kv_heads == 0, "query heads divide among KV heads");
  const std::uint32_t heads = shape.heads / kv.kv_heads;
  auto* scratch = reinterpret_cast<float*>(team.scratch().data() +
                                           team.index() * ThreadPool::Team::kScratchBytes);
  WEIR_CHECK(
      kTileVectors * partial_floats(arena) * sizeof(float) <= ThreadPool::Team::kScratchBytes,
      "head_dim was bounded when the model was validated");
  std::uint64_t tiles = 0;
  for (const AttentionRows& rows : sequences) {
    tiles += std::uint64_t{kv.kv_heads} * ceil_div(rows.rows * heads, kTileVectors);
  }
  const Share mine = team.share(tiles);
  std::uint64_t index = 0;
  for (const AttentionRows& rows : sequences) {
    for (std::uint32_t head = 0; head < kv.kv_heads; ++head) {
      const Queries q = {arena, shape, rows, head, heads};
      for (std::uint32_t v = 0; v < q.count(); v += kTileVectors, ++index) {
        if (index < mine.begin || index >= mine.end) continue;
        attend_tile(q, v, std::min(kTileVectors, q.count() - v), scratch);
      }
    }
  }
}

}  // namespace weir::compute
