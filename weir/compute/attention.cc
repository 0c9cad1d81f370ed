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

std::uint64_t partial_floats(const KvArena& arena) {
  return kPartialHeader + KvArena::value_stride(arena.shape());
}

std::uint32_t first_group(const AttentionTile& t) { return t.begin / kGroupPositions; }
std::uint32_t groups(const AttentionTile& t) {
  return ceil_div(t.end, kGroupPositions) - first_group(t);
}

/// Folds one vector's partials of consecutive groups, `step` floats apart.
class Fold {
 public:
  Fold(std::uint32_t head_dim, float* out) : head_dim_(head_dim), out_(out) {}
  void add(const float* partial) {
    if (partial[1] != 0.0F)
      fold_partial(partial, head_dim_, state_, out_);  // Else it sees none of the group.
  }
  void finish() {
    const float inverse = 1.0F / state_.sum;
    for (std::uint32_t d = 0; d < head_dim_; ++d) out_[d] *= inverse;
  }

 private:
  AttentionState state_;
  std::uint32_t head_dim_;
  float* out_;
};

/// Everything attend() was given, as a list of tiles in one order.
class Work {
 public:
  Work(const KvArena& arena, const AttentionShape& shape, std::span<const AttentionRows> sequences)
      : arena_(arena),
        shape_(shape),
        sequences_(sequences),
        heads_(shape.heads / arena.shape().kv_heads) {}

  /// visit(queries, first vector, tile) for each.
  template <class F>
  void each_tile(const F& visit) const {
    for (const AttentionRows& rows : sequences_) {
      for (std::uint32_t head = 0; head < arena_.shape().kv_heads; ++head) {
        const Queries q = {arena_, shape_, rows, head, heads_};
        for (std::uint32_t v = 0; v < q.count(); v += kTileVectors) {
          visit(q, v, q.tile(v, std::min(kTileVectors, q.count() - v)));
        }
      }
    }
  }

  /// Whole tiles to workers, balanced by the positions they see.
  void by_tiles(const ThreadPool::Team& team, float* scratch) const {
    std::uint64_t total = 0;
    each_tile([&](const Queries&, std::uint32_t, const AttentionTile& t) { total += cost(t); });
    std::uint64_t before = 0;
    each_tile([&](const Queries& q, std::uint32_t vector, AttentionTile t) {
      const std::uint64_t middle = before + cost(t) / 2;
      before += cost(t);
      if (middle * team.workers() / total != team.index()) return;
      std::uint32_t i = 0;
      for (; i < t.vectors; ++i) t.partial[i] = scratch + i * partial_floats(arena_);
      Fold folds[kTileVectors] = {fold(q, vector, 0, t), fold(q, vector, 1, t),
                                  fold(q, vector, 2, t), fold(q, vector, 3, t),
                                  fold(q, vector, 4, t), fold(q, vector, 5, t)};
      for (std::uint32_t g = 0; g < groups(t); ++g) {
        attend_group(t, first_group(t) + g);
        for (i = 0; i < t.vectors; ++i) folds[i].add(t.partial[i]);
      }
      for (i = 0; i < t.vectors; ++i) folds[i].finish();
    });
  }

  /// (tile, group) pairs to workers, all partials in the team's scratch; then vectors to workers.
  void by_groups(const ThreadPool::Team& team, float* scratch, std::uint64_t pairs) const {
    const std::uint64_t step = partial_floats(arena_);
    Share mine = team.share(pairs);
    std::uint64_t pair = 0;
    std::uint64_t base =
        0;  // In partials: tile after tile, group after group, vector after vector.
    each_tile([&](const Queries&, std::uint32_t, AttentionTile t) {
      for (std::uint32_t g = 0; g < groups(t); ++g, ++pair, base += t.vectors) {
        if (pair < mine.begin || pair >= mine.end) continue;
        for (std::uint32_t i = 0; i < t.vectors; ++i) t.partial[i] = scratch + (base + i) * step;
        attend_group(t, first_group(t) + g);
      }
    });
    team.barrier();
    std::uint64_t turn = 0;
    base = 0;
    each_tile([&](const Queries& q, std::uint32_t vector, const AttentionTile& t) {
      for (std::uint32_t i = 0; i < t.vectors; ++i) {
        if (turn++ % team.workers() != team.index()) continue;
        Fold f = fold(q, vector, i, t);
        for (std::uint32_t g = 0; g < groups(t); ++g) {
          f.add(scratch + (base + std::uint64_t{g} * t.vectors + i) * step);
        }
        f.finish();
      }
      base += std::uint64_t{groups(t)} * t.vectors;
    });
  }

 private:
  [[nodiscard]] Fold fold(const Queries& q, std::uint32_t vector, std::uint32_t i,
                          const AttentionTile& t) const {
    return {arena_.shape().head_dim, i < t.vectors ? q.out(vector + i) : nullptr};
  }
  /// Never 0, so that a total is never 0.
  static std::uint64_t cost(const AttentionTile& t) {
    return std::uint64_t{t.end - t.begin} * t.vectors;
  }

  const KvArena& arena_;
  const AttentionShape& shape_;
  std::span<const AttentionRows> sequences_;
  std::uint32_t heads_;
};

}  // namespace

void attend(const ThreadPool::Team& team, const KvArena& arena, const AttentionShape& shape,
            std::span<const AttentionRows> sequences) {
  WEIR_CHECK(shape.heads % arena.shape().kv_heads == 0, "query heads divide among KV heads");
  WEIR_CHECK(
      kTileVectors * partial_floats(arena) * sizeof(float) <= ThreadPool::Team::kScratchBytes,
      "head_dim was bounded when the model was validated");
  const Work work(arena, shape, sequences);
  std::uint64_t tiles = 0;
  std::uint64_t pairs = 0;
  std::uint64_t partials = 0;
  work.each_tile([&](const Queries&, std::uint32_t, const AttentionTile& t) {
    ++tiles;
    pairs += groups(t);
    partials += std::uint64_t{groups(t)} * t.vectors;
  });
  auto* scratch = reinterpret_cast<float*>(team.scratch().data());
  // Few tiles leave workers idle or unequal: a long sequence with few KV heads is cut by groups.
  // The bits are the same either way.
  const bool few = team.workers() > 1 && tiles < 4 * team.workers();
  if (few && partials * partial_floats(arena) * sizeof(float) <= team.scratch().size()) {
    work.by_groups(team, scratch, pairs);
  } else {
    work.by_tiles(team, scratch + team.index() * (ThreadPool::Team::kScratchBytes / sizeof(float)));
  }
}

}  // namespace weir::compute
