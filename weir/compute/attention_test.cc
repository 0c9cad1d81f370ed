#include "weir/compute/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "weir/base/math.h"
#include "weir/compute/dequantize.h"
#include "weir/compute/half.h"
#include "weir/compute/test_targets.h"

namespace weir::compute {
namespace {

/// What a value is after it was stored alone in a vector of zeros and itself: as the arena rounds
/// it. I8's scale is of a whole vector, so it needs that.
double rounded(float x, DType type, float largest) {
  switch (type) {
    case DType::kF16:
      return static_cast<double>(f16_to_f32(f32_to_f16(x)));
    case DType::kBF16: {
      const auto bits = std::bit_cast<std::uint32_t>(x);
      return static_cast<double>(
          std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000));
    }
    case DType::kI8: {
      const float scale = std::bit_cast<float>(
          (std::bit_cast<std::uint32_t>(largest / 127.0F) + 0xFFFF) & 0xFFFF0000);
      return std::nearbyint(static_cast<double>(x * (1.0F / scale))) * static_cast<double>(scale);
    }
    default:
      return static_cast<double>(x);
  }
}

// The little language: a Story is one sequence whose keys, values and queries are known for every
// position; it lies in an arena on shuffled pages and can be attended in chunks of any size.
struct Case {
  std::uint32_t heads = 6, kv_heads = 2, head_dim = 64;
  std::uint32_t window = 0;
  float soft_cap = 0.0F;
  DType type = DType::kF16;
};

class Story {
 public:
  Story(const Case& c, std::uint32_t positions, std::uint64_t seed)
      : case_(c),
        positions_(positions),
        arena_({.layers = 2, .kv_heads = c.kv_heads, .head_dim = c.head_dim, .type = c.type},
               (positions + kPageTokens - 1) / kPageTokens + 3),
        k_(positions * c.kv_heads * c.head_dim),
        v_(k_.size()),
        q_(positions * c.heads * c.head_dim) {
    Dice dice(seed);
    for (float& x : k_) x = 2.0F * dice.symmetric();
    for (float& x : v_) x = 2.0F * dice.symmetric();
    for (float& x : q_) x = 2.0F * dice.symmetric();
    k_kept_ = stored(k_);
    v_kept_ = stored(v_);
    for (std::uint32_t i = 0; i < arena_.units(); ++i) pages_.push_back(PageId{i});
    for (std::size_t i = pages_.size(); i > 1; --i) std::swap(pages_[i - 1], pages_[dice.below(i)]);
    // What another sequence left behind must not show.
    for (std::uint32_t layer = 0; layer < 2; ++layer) {
      for (const PageId page : pages_) {
        for (std::uint32_t head = 0; head < c.kv_heads; ++head) {
          std::memset(arena_.record(layer, page, head), 0xFF,
                      arena_.layout().record_bytes);  // NaN in every float type.
        }
      }
    }
    const std::size_t row = std::size_t{c.kv_heads} * c.head_dim;
    for (std::uint32_t p = 0; p < positions; ++p) {
      arena_.write(1, pages_[p / kPageTokens], p % kPageTokens, &k_[p * row], &v_[p * row]);
    }
  }

  [[nodiscard]] AttentionShape shape() const {
    return {.layer = 1,
            .heads = case_.heads,
            .scale = 0.125F,
            .soft_cap = case_.soft_cap,
            .window = case_.window};
  }
  [[nodiscard]] std::size_t row() const { return std::size_t{case_.heads} * case_.head_dim; }
  [[nodiscard]] const KvArena& arena() const { return arena_; }

  [[nodiscard]] AttentionRows rows(std::uint32_t first, std::uint32_t count, float* out) const {
    return {.q = &q_[first * row()],
            .out = out,
            .q_stride = row(),
            .out_stride = row(),
            .rows = count,
            .first_position = first,
            .pages = pages_};
  }

  /// The queries of positions [first, positions) in chunks of `chunk`.
  [[nodiscard]] std::vector<float> attended(ThreadPool& pool, std::uint32_t first,
                                            std::uint32_t chunk) const {
    std::vector<float> out((positions_ - first) * row());
    for (std::uint32_t p = first; p < positions_; p += chunk) {
      const AttentionRows r = rows(p, std::min(chunk, positions_ - p), &out[(p - first) * row()]);
      pool.run(
          [&](const ThreadPool::Team& team) { attend(team, arena_, shape(), std::span(&r, 1)); });
    }
    return out;
  }

  /// The definition, in double, over keys and values as stored.
  [[nodiscard]] std::vector<double> truth(std::uint32_t position) const {
    const std::uint32_t group = case_.heads / case_.kv_heads;
    const std::uint32_t first =
        case_.window == 0 || position < case_.window ? 0 : position - case_.window + 1;
    std::vector<double> out(row());
    for (std::uint32_t h = 0; h < case_.heads; ++h) {
      std::vector<double> score;
      double largest = -INFINITY;
      for (std::uint32_t p = first; p <= position; ++p) {
        double s = 0.0;
        for (std::uint32_t d = 0; d < case_.head_dim; ++d) {
          s += query(position, h, d) * k_kept_[place(p, h / group, d)];
        }
        s *= 0.125;
        if (case_.soft_cap != 0.0F)
          s = static_cast<double>(case_.soft_cap) *
              std::tanh(s / static_cast<double>(case_.soft_cap));
        score.push_back(s);
        largest = std::max(largest, s);
      }
      double sum = 0.0;
      for (double& s : score) sum += s = std::exp(s - largest);
      for (std::uint32_t d = 0; d < case_.head_dim; ++d) {
        double o = 0.0;
        for (std::uint32_t p = first; p <= position; ++p)
          o += score[p - first] * v_kept_[place(p, h / group, d)];
        out[h * case_.head_dim + d] = o / sum;
      }
    }
    return out;
  }

 private:
  /// Every vector of one head and position as the arena keeps it.
  [[nodiscard]] std::vector<double> stored(const std::vector<float>& x) const {
    std::vector<double> kept(x.size());
    for (std::size_t at = 0; at < x.size(); at += case_.head_dim) {
      float largest = 0.0F;
      for (std::size_t i = at; i < at + case_.head_dim; ++i)
        largest = std::max(largest, std::fabs(x[i]));
      for (std::size_t i = at; i < at + case_.head_dim; ++i)
        kept[i] = rounded(x[i], case_.type, largest);
    }
    return kept;
  }
  [[nodiscard]] std::size_t place(std::uint32_t p, std::uint32_t head, std::uint32_t d) const {
    return (std::size_t{p} * case_.kv_heads + head) * case_.head_dim + d;
  }
  /// What the type's kernel multiplies with keys: BF16 pairs take a BF16 query.
  [[nodiscard]] double query(std::uint32_t p, std::uint32_t head, std::uint32_t d) const {
    const float x = q_[p * row() + head * case_.head_dim + d];
    return case_.type == DType::kBF16 ? rounded(x, DType::kBF16, 0.0F) : static_cast<double>(x);
  }

  Case case_;
  std::uint32_t positions_;
  KvArena arena_;
  std::vector<float> k_, v_, q_;
  std::vector<double> k_kept_, v_kept_;
  std::vector<PageId> pages_;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

const Case kCases[] = {
    {},
    {.type = DType::kF32},
    {.heads = 9, .kv_heads = 3, .head_dim = 64},
    {.heads = 4, .kv_heads = 1, .head_dim = 256},
    {.heads = 4, .kv_heads = 4, .head_dim = 80},
    {.heads = 8, .kv_heads = 1, .head_dim = 24},
    {.heads = 3, .kv_heads = 3, .head_dim = 7, .type = DType::kF32},
    {.window = 20},
    {.window = 200, .soft_cap = 5.0F},
    {.heads = 2, .kv_heads = 1, .window = 1},
    {.soft_cap = 50.0F, .type = DType::kF32},
    {.type = DType::kBF16},
    {.heads = 9, .kv_heads = 3, .head_dim = 64, .type = DType::kBF16},
    {.heads = 8, .kv_heads = 1, .head_dim = 24, .window = 21, .type = DType::kBF16},
    {.heads = 3, .kv_heads = 3, .head_dim = 7, .type = DType::kBF16},
    {.heads = 5, .kv_heads = 1, .window = 200, .soft_cap = 5.0F, .type = DType::kBF16},
    {.heads = 4, .kv_heads = 1, .head_dim = 256, .type = DType::kBF16},
    {.type = DType::kI8},
    {.heads = 9, .kv_heads = 3, .head_dim = 64, .type = DType::kI8},
    {.heads = 8, .kv_heads = 1, .head_dim = 24, .window = 21, .type = DType::kI8},
    {.heads = 3, .kv_heads = 3, .head_dim = 7, .type = DType::kI8},
    {.heads = 5, .kv_heads = 1, .window = 200, .soft_cap = 5.0F, .type = DType::kI8},
    {.heads = 4, .kv_heads = 1, .head_dim = 256, .type = DType::kI8},
};

/// F32 and F16 are as exact as sums of floats are. BF16 weights are rounded to 8 bits, each by a
/// 512th at most, in a mean of values within +-2; in the sum of many it all but cancels. Weights of
/// I8 are rounded to a 65024th of the largest, and queries to as much of theirs.
double tolerance(DType type) {
  return type == DType::kBF16 ? 4e-3 : type == DType::kI8 ? 4e-4 : 5e-6;
}

class AttentionOf : public testing::TestWithParam<Case> {};

TEST_P(AttentionOf, ARowIsTheSoftmaxOverWhatItSees) {
  constexpr std::uint32_t kPositions = 300;
  const Story story(GetParam(), kPositions, 1);
  ThreadPool pool(1);
  const std::vector<float> out = story.attended(pool, 0, kPositions);
  for (std::uint32_t p = 0; p < kPositions; p += 7) {
    const std::vector<double> want = story.truth(p);
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(out[p * story.row() + i]), want[i],
                  tolerance(GetParam().type))
          << "position " << p;
    }
  }
}

TEST_P(AttentionOf, NeitherChunkNorWorkersNorTargetShow) {
  constexpr std::uint32_t kPositions = 290;
  const Story story(GetParam(), kPositions, 2);
  ThreadPool one(1);
  ThreadPool two(2);
  ThreadPool three(3);
  const std::vector<float> want = story.attended(one, 0, kPositions);
  for (const std::uint32_t chunk : {1, 2, 5, 16, 100, 128}) {
    EXPECT_TRUE(same_bits(story.attended(one, 0, chunk), want)) << chunk;
    // Small chunks are many runs, slow under an emulator: with helpers they start before a border
    // between groups, not at the beginning.
    const std::uint32_t first = chunk < 16 ? 240 : 0;
    const std::vector<float> rest(want.begin() + static_cast<std::ptrdiff_t>(first * story.row()),
                                  want.end());
    EXPECT_TRUE(same_bits(story.attended(two, first, chunk), rest)) << chunk;
    EXPECT_TRUE(same_bits(story.attended(three, first, chunk), rest)) << chunk;
  }
  on_every_target([&] { EXPECT_TRUE(same_bits(story.attended(one, 0, 50), want)); });
}

/// Single rows of sequences with so many positions, in one arena, that attention makes: their last
/// keys and values are not in it yet, and their queries are halved.
class Unmade final : public AttentionRowMaker {
 public:
  Unmade(const Case& c, std::span<const std::uint32_t> positions)
      : case_(c),
        arena_({.layers = 2, .kv_heads = c.kv_heads, .head_dim = c.head_dim, .type = c.type},
               std::accumulate(positions.begin(), positions.end(), 0U,
                               [](auto sum, auto n) { return sum + ceil_div(n, kPageTokens); })) {
    Dice dice(5);
    const auto some = [&](std::size_t count) {
      std::vector<float> x(count);
      for (float& f : x) f = 2.0F * dice.symmetric();
      return x;
    };
    std::uint32_t page = 0;
    for (const std::uint32_t n : positions) {
      Sequence& s = sequences_.emplace_back();
      s.last = n - 1;
      for (std::uint32_t i = 0; i < ceil_div(n, kPageTokens); ++i)
        s.pages.push_back(PageId{page++});
      for (std::uint32_t p = 0; p < n; ++p) {
        s.k = some(std::size_t{c.kv_heads} * c.head_dim);
        s.v = some(s.k.size());
        arena_.write(1, s.pages[p / kPageTokens], p % kPageTokens, s.k.data(), s.v.data());
      }
      s.q = some(std::size_t{c.heads} * c.head_dim);
      s.stored = std::vector<std::atomic<int>>(c.kv_heads);
    }
  }

  /// With what there is to make made before, or by attention.
  [[nodiscard]] std::vector<float> attended(ThreadPool& pool, bool before) {
    std::vector<std::vector<float>> out(sequences_.size(), std::vector<float>(row()));
    std::vector<std::vector<float>> q;
    std::vector<AttentionRows> rows;
    for (Sequence& s : sequences_) {
      const std::vector<float> nothing(s.k.size(), std::numeric_limits<float>::quiet_NaN());
      arena_.write(1, s.pages.back(), s.last % kPageTokens, before ? s.k.data() : nothing.data(),
                   before ? s.v.data() : nothing.data());
      std::ranges::fill(s.stored, before ? 1 : 0);
      q.push_back(s.q);
      if (!before) std::ranges::transform(s.q, q.back().begin(), [](float x) { return x / 2; });
      rows.push_back({.q = q.back().data(),
                      .out = out[rows.size()].data(),
                      .q_stride = row(),
                      .out_stride = row(),
                      .rows = 1,
                      .first_position = s.last,
                      .pages = s.pages});
    }
    const AttentionShape shape{.layer = 1,
                               .heads = case_.heads,
                               .scale = 0.125F,
                               .soft_cap = case_.soft_cap,
                               .window = case_.window};
    pool.run([&](const ThreadPool::Team& team) {
      attend(team, arena_, shape, rows, before ? nullptr : this);
    });
    std::vector<float> all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      all.insert(all.end(), out[i].begin(), out[i].end());
      for (const std::atomic<int>& times : sequences_[i].stored) EXPECT_EQ(times, 1);
    }
    return all;
  }

  void make_queries(std::size_t, std::uint32_t first, std::uint32_t heads,
                    float* q) const override {
    EXPECT_LE(first + heads, case_.heads);
    for (std::uint32_t i = 0; i < heads * case_.head_dim; ++i) q[i] *= 2;
  }
  void store_keys_and_values(std::size_t i, std::uint32_t kv_head) const override {
    const Sequence& s = sequences_[i];
    s.stored[kv_head].fetch_add(1);
    const std::size_t at = std::size_t{kv_head} * case_.head_dim;
    arena_.write_head(1, s.pages.back(), s.last % kPageTokens, kv_head, &s.k[at], &s.v[at]);
  }

 private:
  struct Sequence {
    std::uint32_t last = 0;
    std::vector<PageId> pages;
    std::vector<float> k, v, q;                    ///< Of the last position.
    mutable std::vector<std::atomic<int>> stored;  ///< How often, a KV head.
  };
  [[nodiscard]] std::size_t row() const { return std::size_t{case_.heads} * case_.head_dim; }

  Case case_;
  KvArena arena_;
  std::vector<Sequence> sequences_;
};

TEST_P(AttentionOf, SingleRowsMayBeMadeWhereTheyAreAttended) {
  // Few long ones are cut by groups of positions, many are shared whole.
  const std::vector<std::uint32_t> lengths[] = {
      {300}, {128}, {129, 1}, {1, 17, 40, 128, 129, 300, 16, 15, 257, 33, 2, 90, 200}};
  for (const auto& positions : lengths) {
    Unmade rows(GetParam(), positions);
    ThreadPool one(1);
    const std::vector<float> want = rows.attended(one, true);
    for (const std::size_t workers : {1, 2, 3, 5}) {
      ThreadPool pool(workers);
      EXPECT_TRUE(same_bits(rows.attended(pool, false), want))
          << positions.size() << " sequences, " << workers << " workers";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionOf, testing::ValuesIn(kCases));

TEST(Attention, SequencesTogetherAreTheSequencesAlone) {
  const Case c{.heads = 9, .kv_heads = 3};
  const Story a(c, 400, 3);
  ThreadPool one(1);
  const std::vector<float> last = a.attended(one, 399, 1);
  const std::vector<float> chunk = a.attended(one, 100, 300);
  for (const std::size_t workers : {1, 2, 3}) {
    ThreadPool pool(workers);
    std::vector<float> out(a.row() * 302);
    const AttentionRows together[] = {a.rows(399, 1, &out[0]), a.rows(100, 300, &out[a.row()]),
                                      a.rows(0, 1, &out[301 * a.row()])};
    pool.run([&](const ThreadPool::Team& team) { attend(team, a.arena(), a.shape(), together); });
    EXPECT_EQ(std::memcmp(out.data(), last.data(), last.size() * sizeof(float)), 0);
    EXPECT_EQ(std::memcmp(&out[a.row()], chunk.data(), chunk.size() * sizeof(float)), 0);
  }
}

TEST(KvArena, BytesAreThoseOfItsRecordsAndPagesDoNotOverlap) {
  const KvShape shape{.layers = 3, .kv_heads = 2, .head_dim = 24, .type = DType::kF16};
  // K 24 x 16 and V 16 x 32 halves.
  EXPECT_EQ(KvArena::bytes_per_page(shape), 3U * 2 * (24 * 16 + 16 * 32) * 2);
  const KvArena arena(shape, 5);
  EXPECT_EQ(arena.bytes(), 5 * KvArena::bytes_per_page(shape));
  std::vector<float> k(48);
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = static_cast<float>(i);
  std::vector<float> v(48, -1.0F);
  arena.write(2, PageId{4}, 15, k.data(), v.data());
  const auto* record = reinterpret_cast<const std::uint16_t*>(arena.record(2, PageId{4}, 1));
  EXPECT_EQ(f16_to_f32(record[3 * 16 + 15]), 27.0F);
  EXPECT_EQ(f16_to_f32(record[24 * 16 + 15 * 32 + 23]), -1.0F);
  EXPECT_EQ(record[24 * 16 + 15 * 32 + 24], 0);
}

/// A page written by vectors of random values, with what is not
/// finite, what is nearly nothing and what has no neighbours to make up a group.
std::vector<std::byte> written(DType type, std::uint32_t head_dim) {
  const KvArena arena({.layers = 1, .kv_heads = 2, .head_dim = head_dim, .type = type}, 1);
  Dice dice(7);
  std::vector<float> k(2UL * head_dim);
  std::vector<float> v(k.size());
  for (std::uint32_t slot = 0; slot < kPageTokens; ++slot) {
    const float size = std::ldexp(1.0F, static_cast<int>(dice.below(40)) - 25);
    for (float& x : k) x = size * dice.symmetric();
    for (float& x : v) x = size * dice.symmetric();
    if (slot == 3) k[1] = v[0] = std::numeric_limits<float>::infinity();
    if (slot == 4) std::ranges::fill(v, 0.0F);
    if (slot == 5) std::ranges::fill(k, 1e-38F);
    arena.write(0, PageId{0}, slot, k.data(), v.data());
  }
  const std::byte* begin = arena.record(0, PageId{0}, 0);
  return {begin, begin + 2 * arena.layout().record_bytes};
}

TEST(KvArena, EveryTargetStoresTheSameBytes) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    for (const std::uint32_t head_dim : {7U, 24U, 64U, 65U}) {
      SCOPED_TRACE(testing::Message() << info(type).name << " of " << head_dim);
      const std::vector<std::byte> want = written(type, head_dim);
      on_every_target([&] { EXPECT_EQ(written(type, head_dim), want); });
    }
  }
}

TEST(KvArena, NarrowTypesLieInGroupsThatMakeAWord) {
  const KvShape pairs{.layers = 1, .kv_heads = 1, .head_dim = 7, .type = DType::kBF16};
  const KvShape bytes{.layers = 1, .kv_heads = 1, .head_dim = 64, .type = DType::kI8};
  // K 4 x 16 x 2 and V 8 x 16 x 2 halves; scales 2 x 16 halves, K 16 x 16 x 4 and V 4 x 64 x 4.
  EXPECT_EQ(KvArena::bytes_per_page(pairs), (4U * 16 * 2 + 8 * 16 * 2) * 2);
  EXPECT_EQ(KvArena::bytes_per_page(bytes), 64U + 16 * 16 * 4 + 4 * 64 * 4);
  const KvArena arena(pairs, 1);
  std::vector<float> k = {1, 2, 3, 4, 5, 6, 7};
  std::vector<float> v = {-1, -2, -3, -4, -5, -6, -7};
  arena.write(0, PageId{0}, 5, k.data(), v.data());
  const auto* record = reinterpret_cast<const std::uint16_t*>(arena.record(0, PageId{0}, 0));
  EXPECT_EQ(bf16_to_f32(record[1 * 32 + 5 * 2 + 1]), 4.0F);            // K, dimension 3.
  EXPECT_EQ(record[3 * 32 + 5 * 2 + 1], 0);                            // Beyond dimension 6.
  EXPECT_EQ(bf16_to_f32(record[4 * 32 + 2 * 32 + 3 * 2 + 1]), -4.0F);  // V, dimension 3.
}

}  // namespace
}  // namespace weir::compute
