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

/// A tile before its queries are looked at: enough to count and to share.
struct TileSpan {
  std::uint32_t vector = 0;  ///< The first.
  std::uint32_t vectors = 0;
  std::uint32_t begin = 0, end = 0;  ///< Positions some vector sees.

  [[nodiscard]] std::uint32_t first_group() const { return begin / kGroupPositions; }
  [[nodiscard]] std::uint32_t groups() const {
    return ceil_div(end, kGroupPositions) - first_group();
  }
  /// Never 0, so that a total is never 0.
  [[nodiscard]] std::uint64_t cost() const { return std::uint64_t{end - begin} * vectors; }
};

/// One sequence's query vectors of one KV head, in order of (row, head): `heads` a row.
struct Queries {
  const KvArena& arena;
  const AttentionShape& shape;
  const AttentionRows& rows;
  std::uint32_t kv_head;
  std::uint32_t heads;  ///< Query heads of a KV head.

  [[nodiscard]] std::uint32_t count() const { return rows.rows * heads; }

  /// The `vectors` query vectors from `vector` on; rows are in order of position.
  [[nodiscard]] TileSpan span(std::uint32_t vector, std::uint32_t vectors) const {
    const std::uint32_t position = rows.first_position + vector / heads;
    const std::uint32_t last = rows.first_position + (vector + vectors - 1) / heads;
    return {vector, vectors, first_seen(shape, position), last + 1};
  }
  [[nodiscard]] AttentionTile tile(const TileSpan& span) const {
    AttentionTile t{.arena = &arena,
                    .shape = &shape,
                    .rows = &rows,
                    .kv_head = kv_head,
                    .vectors = span.vectors,
                    .begin = span.begin,
                    .end = span.end};
    for (std::uint32_t i = 0; i < span.vectors; ++i) {
      const std::uint32_t row = (span.vector + i) / heads;
      t.query[i] = rows.q + row * rows.q_stride + head_offset(span.vector + i);
      t.last[i] = rows.first_position + row;
      t.first[i] = first_seen(shape, t.last[i]);
    }
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
  return kPartialHeader + arena.layout().value_stride;
}
std::uint64_t query_words(const KvArena& arena) {
  return kQueryHeader + arena.layout().value_stride;
}

/// Everything attend() was given, as a list of tiles in one order, shared among the workers by what
/// each costs. Who computes a tile or a group does not show in its bits.
class Work {
 public:
  Work(const KvArena& arena, const AttentionShape& shape, std::span<const AttentionRows> sequences)
      : arena_(arena),
        shape_(shape),
        sequences_(sequences),
        heads_(shape.heads / arena.shape().kv_heads) {
    each_tile([&](const Place&, const TileSpan& t) {
      ++tiles_;
      pairs_ += t.groups();
      partials_ += std::uint64_t{t.groups()} * t.vectors;
      cost_ += t.cost();
    });
  }

  void share(const ThreadPool::Team& team) const {
    // Few tiles leave workers idle or unequal: a long sequence with few KV heads is cut by groups.
    const bool few = team.workers() > 1 && tiles_ < 4 * team.workers();
    const std::uint64_t needed =
        partials_ * partial_floats(arena_) + team.workers() * kTileVectors * query_words(arena_);
    if (few && needed * sizeof(float) <= team.scratch().size()) {
      by_groups(team);
    } else {
      by_tiles(team);
    }
  }

 private:
  /// One tile in the list.
  struct Place {
    std::size_t sequence = 0;
    std::uint32_t kv_head = 0;
    std::uint32_t vector = 0;
  };
  [[nodiscard]] Queries queries(const Place& at) const {
    return {arena_, shape_, sequences_[at.sequence], at.kv_head, heads_};
  }
  [[nodiscard]] TileSpan span(const Place& at) const {
    const Queries q = queries(at);
    return q.span(at.vector, std::min(kTileVectors, q.count() - at.vector));
  }
  [[nodiscard]] Place next(Place at) const {
    at.vector += kTileVectors;
    if (at.vector < queries(at).count()) return at;
    at.vector = 0;
    if (++at.kv_head < arena_.shape().kv_heads) return at;
    return {at.sequence + 1, 0, 0};
  }
  /// visit(place, span) for each.
  template <class F>
  void each_tile(const F& visit) const {
    for (Place at; at.sequence < sequences_.size(); at = next(at)) visit(at, span(at));
  }

  /// The group after `group` of a tile, then the first of the next; nothing where these are the
  /// records that the tile itself has read.
  [[nodiscard]] AttentionAhead ahead(const Place& at, const AttentionTile& t,
                                     std::uint32_t group) const {
    if ((group + 1) * kGroupPositions < t.end) return records_of(t, group + 1);
    const Place after = next(at);
    if (after.sequence == sequences_.size() || after.vector != 0) return {};
    const TileSpan s = span(after);
    return records_of(queries(after).tile(s), s.first_group());
  }

  /// Whole tiles to workers, balanced by the positions they see.
  void by_tiles(const ThreadPool::Team& team) const {
    auto* const partials = reinterpret_cast<float*>(team.own_scratch().data());
    auto* const words =
        reinterpret_cast<std::uint32_t*>(partials + kTileVectors * partial_floats(arena_));
    std::uint64_t before = 0;
    each_tile([&](const Place& at, const TileSpan& span) {
      const std::uint64_t middle = before + span.cost() / 2;
      before += span.cost();
      if (middle * team.workers() / cost_ != team.index()) return;
      const Queries q = queries(at);
      AttentionTile t = q.tile(span);
      prepare_queries(t, words);
      AttentionState states[kTileVectors];
      for (std::uint32_t i = 0; i < t.vectors; ++i) {
        t.partial[i] = partials + i * partial_floats(arena_);
        states[i].out = q.out(span.vector + i);
      }
      const std::span folded = std::span(states).first(t.vectors);
      for (std::uint32_t g = 0; g < span.groups(); ++g) {
        const std::uint32_t group = span.first_group() + g;
        attend_group(t, group, ahead(at, t, group));
        fold_partials(std::span(t.partial).first(t.vectors), arena_.shape().head_dim, folded);
      }
      finish_folding(arena_.shape().head_dim, folded);
    });
  }

  /// (tile, group) pairs to workers, all partials in the team's scratch; then vectors to workers.
  void by_groups(const ThreadPool::Team& team) const {
    const std::uint64_t step = partial_floats(arena_);
    auto* const scratch = reinterpret_cast<float*>(team.scratch().data());
    auto* const words = reinterpret_cast<std::uint32_t*>(scratch + partials_ * step) +
                        team.index() * kTileVectors * query_words(arena_);
    const Share mine = team.share(pairs_);
    std::uint64_t pair = 0;
    // In partials: tile after tile, group after group, vector after vector.
    std::uint64_t base = 0;
    each_tile([&](const Place& at, const TileSpan& span) {
      const std::uint64_t from = std::clamp<std::uint64_t>(mine.begin, pair, pair + span.groups());
      const std::uint64_t to = std::clamp<std::uint64_t>(mine.end, pair, pair + span.groups());
      if (from < to) {
        const Queries q = queries(at);
        AttentionTile t = q.tile(span);
        prepare_queries(t, words);
        for (std::uint64_t g = from - pair; g < to - pair; ++g) {
          for (std::uint32_t i = 0; i < t.vectors; ++i)
            t.partial[i] = scratch + (base + g * t.vectors + i) * step;
          const std::uint32_t group = span.first_group() + static_cast<std::uint32_t>(g);
          attend_group(t, group, ahead(at, t, group));
        }
      }
      pair += span.groups();
      base += std::uint64_t{span.groups()} * span.vectors;
    });
    team.barrier();
    std::uint64_t turn = 0;
    base = 0;
    each_tile([&](const Place& at, const TileSpan& span) {
      for (std::uint32_t i = 0; i < span.vectors; ++i) {
        if (turn++ % team.workers() != team.index()) continue;
        AttentionState state;
        state.out = queries(at).out(span.vector + i);
        for (std::uint32_t g = 0; g < span.groups(); ++g) {
          const float* const partial =
              scratch + (base + std::uint64_t{g} * span.vectors + i) * step;
          fold_partials({&partial, 1}, arena_.shape().head_dim, {&state, 1});
        }
        finish_folding(arena_.shape().head_dim, {&state, 1});
      }
      base += std::uint64_t{span.groups()} * span.vectors;
    });
  }

  const KvArena& arena_;
  const AttentionShape& shape_;
  std::span<const AttentionRows> sequences_;
  std::uint32_t heads_;
  std::uint64_t tiles_ = 0;
  std::uint64_t pairs_ = 0;     ///< (tile, group)
  std::uint64_t partials_ = 0;  ///< (tile, group, vector)
  std::uint64_t cost_ = 0;
};

}  // namespace

void attend(const ThreadPool::Team& team, const KvArena& arena, const AttentionShape& shape,
            std::span<const AttentionRows> sequences) {
  WEIR_CHECK(shape.heads % arena.shape().kv_heads == 0, "query heads divide among KV heads");
  WEIR_CHECK(kTileVectors * (partial_floats(arena) + query_words(arena)) * sizeof(float) <=
                 ThreadPool::Team::kScratchBytes,
             "head_dim was bounded when the model was validated");
  Work(arena, shape, sequences).share(team);
}

}  // namespace weir::compute
