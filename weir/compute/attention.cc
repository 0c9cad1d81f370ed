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

/// Tiles of the same positions before their queries are looked at: enough to count and to share.
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
  /// The tile of it that begins `at` vectors after its first. REQUIRES: at < vectors.
  [[nodiscard]] TileSpan tile(std::uint32_t at) const {
    return {vector + at, std::min(kTileVectors, vectors - at), begin, end};
  }
};

/// One sequence's query vectors of one KV head, in order of (row, head): `heads` a row.
struct Queries {
  const KvArena& arena;
  const AttentionShape& shape;
  const AttentionRows& rows;
  std::uint32_t kv_head;
  std::uint32_t heads;  ///< Query heads of a KV head.

  [[nodiscard]] std::uint32_t count() const { return rows.rows * heads; }
  /// Vectors that go to one worker together: a tile, or all of a single row, whose tiles read the
  /// same positions, so that one worker has all that reads the newest.
  [[nodiscard]] std::uint32_t together() const {
    return rows.rows == 1 ? std::max(heads, kTileVectors) : kTileVectors;
  }

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

/// Everything attend() was given, as a list of parts in one order, shared among the workers by what
/// each costs. Who computes a part or a group does not show in its bits.
class Work {
 public:
  Work(const KvArena& arena, const AttentionShape& shape, std::span<const AttentionRows> sequences,
       const AttentionRowMaker* maker)
      : arena_(arena),
        shape_(shape),
        sequences_(sequences),
        maker_(maker),
        heads_(shape.heads / arena.shape().kv_heads) {
    each_part([&](const Place&, const TileSpan& p) {
      ++parts_;
      pairs_ += p.groups();
      partials_ += std::uint64_t{p.groups()} * p.vectors;
      cost_ += p.cost();
    });
  }

  void share(const ThreadPool::Team& team) const {
    // Few parts leave workers idle or unequal: a long sequence with few KV heads is cut by groups,
    // where there are several, for one barrier more.
    const bool few = team.workers() > 1 && parts_ < 4 * team.workers() && pairs_ > parts_;
    const std::uint64_t needed =
        partials_ * partial_floats(arena_) + team.workers() * kTileVectors * query_words(arena_);
    if (few && needed * sizeof(float) <= team.scratch().size()) {
      by_groups(team);
    } else {
      by_parts(team);
    }
  }

 private:
  /// Where a tile, or a part, begins in the list.
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
    return q.span(at.vector, std::min(q.together(), q.count() - at.vector));
  }
  /// What begins `vectors` further on, or with the next KV head.
  [[nodiscard]] Place next(Place at, std::uint32_t vectors) const {
    at.vector += vectors;
    if (at.vector < queries(at).count()) return at;
    at.vector = 0;
    if (++at.kv_head < arena_.shape().kv_heads) return at;
    return {at.sequence + 1, 0, 0};
  }
  /// visit(place, span) for each.
  template <class F>
  void each_part(const F& visit) const {
    for (Place at; at.sequence < sequences_.size(); at = next(at, queries(at).together()))
      visit(at, span(at));
  }
  /// visit(place, tile, vectors before it) for each of a part.
  template <class F>
  static void each_tile(const Place& at, const TileSpan& part, const F& visit) {
    for (std::uint32_t v = 0; v < part.vectors; v += kTileVectors)
      visit(Place{at.sequence, at.kv_head, at.vector + v}, part.tile(v), v);
  }

  /// The tile with its queries ready, in `words`; `made` has room for its vectors until then.
  [[nodiscard]] AttentionTile ready(const Place& at, const TileSpan& tile, std::uint32_t* words,
                                    float* made) const {
    AttentionTile t = queries(at).tile(tile);
    if (maker_ != nullptr) {
      // Heads of a row are adjacent.
      const std::uint64_t dim = arena_.shape().head_dim;
      std::copy_n(t.query[0], t.vectors * dim, made);
      maker_->make_queries(at.sequence, at.kv_head * heads_ + at.vector, t.vectors, made);
      for (std::uint32_t i = 0; i < t.vectors; ++i) t.query[i] = made + i * dim;
    }
    prepare_queries(t, words);
    return t;
  }

  /// The group after `group` of a tile, then the first of the next; nothing where these are the
  /// records that the tile itself has read.
  [[nodiscard]] AttentionAhead ahead(const Place& at, const AttentionTile& t,
                                     std::uint32_t group) const {
    if ((group + 1) * kGroupPositions < t.end) return records_of(t, group + 1);
    const Place after = next(at, kTileVectors);
    if (after.sequence == sequences_.size() || after.vector != 0) return {};
    const TileSpan s = span(after).tile(0);
    return records_of(queries(after).tile(s), s.first_group());
  }

  /// Whole parts to workers, balanced by the positions they see.
  void by_parts(const ThreadPool::Team& team) const {
    auto* const partials = reinterpret_cast<float*>(team.own_scratch().data());
    auto* const words =
        reinterpret_cast<std::uint32_t*>(partials + kTileVectors * partial_floats(arena_));
    std::uint64_t before = 0;
    each_part([&](const Place& part_at, const TileSpan& part) {
      const std::uint64_t middle = before + part.cost() / 2;
      before += part.cost();
      if (middle * team.workers() / cost_ != team.index()) return;
      if (maker_ != nullptr) maker_->store_keys_and_values(part_at.sequence, part_at.kv_head);
      each_tile(part_at, part, [&](const Place& at, const TileSpan& span, std::uint32_t) {
        const Queries q = queries(at);
        AttentionTile t = ready(at, span, words, partials);
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
    });
  }

  /// (part, group) pairs to workers, all partials in the team's scratch; then vectors to workers.
  void by_groups(const ThreadPool::Team& team) const {
    const std::uint64_t step = partial_floats(arena_);
    auto* const scratch = reinterpret_cast<float*>(team.scratch().data());
    auto* const words = reinterpret_cast<std::uint32_t*>(scratch + partials_ * step) +
                        team.index() * kTileVectors * query_words(arena_);
    const Share mine = team.share(pairs_);
    std::uint64_t pair = 0;
    // In partials: part after part, group after group, vector after vector.
    std::uint64_t base = 0;
    each_part([&](const Place& part_at, const TileSpan& part) {
      const std::uint64_t end = pair + part.groups();
      const std::uint64_t from = std::clamp<std::uint64_t>(mine.begin, pair, end);
      const std::uint64_t to = std::clamp<std::uint64_t>(mine.end, pair, end);
      if (from < to) {
        if (maker_ != nullptr && to == end)
          maker_->store_keys_and_values(part_at.sequence, part_at.kv_head);
        each_tile(part_at, part, [&](const Place& at, const TileSpan& span, std::uint32_t v) {
          const auto partials = [&](std::uint64_t g) {
            return scratch + (base + g * part.vectors + v) * step;
          };
          AttentionTile t = ready(at, span, words, partials(from - pair));
          for (std::uint64_t g = from - pair; g < to - pair; ++g) {
            for (std::uint32_t i = 0; i < t.vectors; ++i) t.partial[i] = partials(g) + i * step;
            const std::uint32_t group = span.first_group() + static_cast<std::uint32_t>(g);
            attend_group(t, group, ahead(at, t, group));
          }
        });
      }
      pair = end;
      base += std::uint64_t{part.groups()} * part.vectors;
    });
    team.barrier();
    std::uint64_t turn = 0;
    base = 0;
    each_part([&](const Place& at, const TileSpan& span) {
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
  const AttentionRowMaker* maker_;
  std::uint32_t heads_;
  std::uint64_t parts_ = 0;
  std::uint64_t pairs_ = 0;     ///< (part, group)
  std::uint64_t partials_ = 0;  ///< (part, group, vector)
  std::uint64_t cost_ = 0;
};

}  // namespace

void attend(const ThreadPool::Team& team, const KvArena& arena, const AttentionShape& shape,
            std::span<const AttentionRows> sequences, const AttentionRowMaker* maker) {
  WEIR_CHECK(shape.heads % arena.shape().kv_heads == 0, "query heads divide among KV heads");
  for (const AttentionRows& rows : sequences)
    WEIR_CHECK(maker == nullptr || rows.rows == 1, "only single rows are made here");
  WEIR_CHECK(kTileVectors * (partial_floats(arena) + query_words(arena)) * sizeof(float) <=
                 ThreadPool::Team::kScratchBytes,
             "head_dim was bounded when the model was validated");
  Work(arena, shape, sequences, maker).share(team);
}

}  // namespace weir::compute
