#include "weir/compute/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "weir/compute/dequantize.h"
#include "weir/compute/half.h"
#include "weir/compute/test_targets.h"

namespace weir::compute {
namespace {

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
    for (std::uint32_t i = 0; i < arena_.pages(); ++i) pages_.push_back(PageId{i});
    for (std::size_t i = pages_.size(); i > 1; --i) std::swap(pages_[i - 1], pages_[dice.below(i)]);
    // What another sequence left behind must not show.
    for (std::uint32_t layer = 0; layer < 2; ++layer) {
      for (const PageId page : pages_) {
        for (std::uint32_t head = 0; head < c.kv_heads; ++head) {
          std::memset(arena_.record(layer, page, head), 0xFF,
                      record_bytes());  // NaN in both types.
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
          s += static_cast<double>(q_[position * row() + h * case_.head_dim + d]) *
               stored(k_, p, h / group, d);
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
          o += score[p - first] * stored(v_, p, h / group, d);
        out[h * case_.head_dim + d] = o / sum;
      }
    }
    return out;
  }

 private:
  [[nodiscard]] std::size_t record_bytes() const {
    return KvArena::bytes_per_page(arena_.shape()) / 2 / case_.kv_heads;
  }
  [[nodiscard]] double stored(const std::vector<float>& x, std::uint32_t p, std::uint32_t head,
                              std::uint32_t d) const {
    const float value = x[(std::size_t{p} * case_.kv_heads + head) * case_.head_dim + d];
    return static_cast<double>(case_.type == DType::kF16 ? f16_to_f32(f32_to_f16(value)) : value);
  }

  Case case_;
  std::uint32_t positions_;
  KvArena arena_;
  std::vector<float> k_, v_, q_;
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
};

class AttentionOf : public testing::TestWithParam<Case> {};

TEST_P(AttentionOf, ARowIsTheSoftmaxOverWhatItSees) {
  constexpr std::uint32_t kPositions = 300;
  const Story story(GetParam(), kPositions, 1);
  ThreadPool pool(1);
  const std::vector<float> out = story.attended(pool, 0, kPositions);
  for (std::uint32_t p = 0; p < kPositions; p += 7) {
    const std::vector<double> want = story.truth(p);
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(out[p * story.row() + i]), want[i], 5e-6) << "position " << p;
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

}  // namespace
}  // namespace weir::compute
