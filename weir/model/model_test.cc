#include "weir/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "weir/model/allocation_count.h"
#include "weir/model/logit_scan.h"
#include "weir/model/sampler.h"
#include "weir/model/testing/tiny_model.h"
#include "weir/model/weights.h"

namespace weir::model {
namespace {

using testing::expect;
using ::testing::HasSubstr;

class EveryFamily : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryFamily, ThePlanIsWhatLoadingAllocates) {
  compute::ThreadPool pool(1);
  for (const DType kv_type : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    ModelOptions options;
    options.kv_type = kv_type;
    const testing::TinyModel tiny = testing::load_tiny(GetParam(), pool, options);
    const BytePlan plan =
        expect(Model::plan(*tiny.file, tiny.model->shape(), tiny.model->options(), 7));
    const compute::KvArena arena(tiny.model->kv_shape(), plan.kv,
                                 layer_places(tiny.model->shape(), plan.kv), 7);
    const SamplerWorkspace sampling(static_cast<std::int32_t>(tiny.model->shape().vocabulary));
    const std::uint64_t allocated = tiny.model->bytes() + arena.bytes() + sampling.bytes();
    EXPECT_NEAR(static_cast<double>(plan.total()) / static_cast<double>(allocated), 1.0, 0.02);
    EXPECT_EQ(plan.file, tiny.file->file_bytes());
  }
}

TEST_P(EveryFamily, AStepAllocatesNothing) {
  compute::ThreadPool pool(2);
  const testing::TinyModel tiny = testing::load_tiny(GetParam(), pool);
  const compute::KvArena arena(tiny.model->kv_shape(), 4);
  const std::vector<TokenId> tokens(40, 5);
  const std::vector<PageId> pages = testing::pages_for(48);
  const SequenceRows prefill{tokens, 0, pages, 1};
  const SequenceRows decode{std::span(tokens).first(1), 40, pages, 1};
  const std::size_t before = allocations_of_all_threads();
  const bool some = !tiny.model->forward({{&prefill, 1}}, arena).empty() &&
                    !tiny.model->forward({{&decode, 1}}, arena).empty();
  const std::size_t after = allocations_of_all_threads();
  EXPECT_TRUE(some);
  EXPECT_EQ(after, before);
}

TEST_P(EveryFamily, AStepHasTheBarriersThatAreTold) {
  compute::ThreadPool pool(2);
  const testing::TinyModel tiny = testing::load_tiny(GetParam(), pool);
  const ModelShape& shape = tiny.model->shape();
  const compute::KvArena arena(tiny.model->kv_shape(), 12);
  const std::vector<TokenId> tokens = {3, 4};
  const std::vector<PageId> pages = testing::pages_for(12 * kPageTokens);
  const auto barriers_of = [&](std::uint32_t sequences, std::size_t rows) {
    std::vector<SequenceRows> batch;
    for (std::uint32_t i = 0; i < sequences; ++i)
      batch.push_back({std::span(tokens).first(rows), 0, std::span(pages).subspan(i, 1), 1});
    const std::uint32_t before = pool.barriers();
    EXPECT_FALSE(tiny.model->forward({batch}, arena).empty());
    return pool.barriers() - before - 1;  // Every run ends with one.
  };
  for (const std::uint32_t sequences : {1, 4, 5, 12}) {
    EXPECT_EQ(barriers_of(sequences, 1),
              barriers_of_step(shape.layers, shape.post_norms, sequences));
  }
  EXPECT_EQ(barriers_of(2, 2), barriers_of_step(shape.layers, shape.post_norms, 4) + shape.layers);
}

TEST_P(EveryFamily, PeaksAreTheLogits) {
  for (const std::size_t workers : {1, 2, 3}) {
    compute::ThreadPool pool(workers);
    const testing::TinyModel tiny = testing::load_tiny(GetParam(), pool);
    const std::size_t vocabulary = tiny.model->shape().vocabulary;
    const compute::KvArena arena(tiny.model->kv_shape(), 3);
    const std::vector<TokenId> tokens(40, 5);
    const std::vector<PageId> pages = testing::pages_for(40);
    for (const std::uint32_t rows : {1U, 30U, 0U}) {
      const SequenceRows chunk{tokens, 0, pages, rows};
      const std::span<const float> logits = tiny.model->forward({{&chunk, 1}}, arena);
      const std::span<const float> peaks = tiny.model->peaks();
      ASSERT_EQ(peaks.size(), rows * peak_blocks(vocabulary));
      for (std::size_t row = 0; row < rows; ++row) {
        std::vector<float> want(peak_blocks(vocabulary));
        find_peaks(logits.subspan(row * vocabulary, vocabulary), want);
        EXPECT_TRUE(std::ranges::equal(
            want, peaks.subspan(row * peak_blocks(vocabulary), peak_blocks(vocabulary))));
      }
    }
  }
}

void expect_a_nan_stays_where_it_is(const std::string& family, DType kv_type) {
  compute::ThreadPool pool(2);
  ModelOptions options;
  options.kv_type = kv_type;
  const testing::TinyModel tiny = testing::load_tiny(family, pool, options);
  const ModelShape& shape = tiny.model->shape();
  const compute::KvArena arena(tiny.model->kv_shape(), 2);
  const std::vector<TokenId> tokens = {3, 4, 5, 6};
  const std::vector<PageId> mine = {PageId{0}};
  const std::vector<PageId> poisoned = {PageId{1}};
  const SequenceRows prefix{std::span(tokens).first(3), 0, mine, 0};
  const SequenceRows other{std::span(tokens).first(3), 0, poisoned, 0};
  const std::vector<SequenceRows> both = {prefix, other};
  ASSERT_TRUE(tiny.model->forward({both}, arena).empty());
  const std::vector<float> nan(shape.kv_width(), std::numeric_limits<float>::quiet_NaN());
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    arena.write(layer, PageId{1}, 1, nan.data(), nan.data());
  }
  const SequenceRows next{std::span(tokens).subspan(3), 3, mine, 1};
  const SequenceRows broken{std::span(tokens).subspan(3), 3, poisoned, 1};
  const auto alone = [&] {
    const std::span<const float> l = tiny.model->forward({{&next, 1}}, arena);
    return std::vector<float>(l.begin(), l.end());
  }();
  const std::vector<SequenceRows> batch = {broken, next};
  const std::span<const float> logits = tiny.model->forward({batch}, arena);
  EXPECT_TRUE(std::isnan(logits[0]));
  EXPECT_TRUE(std::isnan(tiny.model->peaks()[0]));
  for (std::size_t i = 0; i < shape.vocabulary; ++i)
    ASSERT_EQ(logits[shape.vocabulary + i], alone[i]);
}

TEST_P(EveryFamily, ANaNInOneSequenceReachesNoOther) {
  for (const DType kv_type : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    SCOPED_TRACE(info(kv_type).name);
    expect_a_nan_stays_where_it_is(GetParam(), kv_type);
  }
}

INSTANTIATE_TEST_SUITE_P(Model, EveryFamily, ::testing::ValuesIn(testing::families()),
                         [](const auto& test) { return test.param; });

TEST(Model, OptionsOutOfRangeAreNamed) {
  const auto file = expect(format::open_model_file(testing::golden("llama", "model.gguf")));
  const ModelShape shape = expect(read_shape(*file));
  const auto refused = [&](auto change) {
    ModelOptions options;
    change(options);
    const auto plan = Model::plan(*file, shape, options, 1);
    return plan ? std::string("accepted") : plan.error().message;
  };
  EXPECT_THAT(refused([](ModelOptions& o) { o.context = 257; }),
              HasSubstr("context 257 is more than the 256 positions"));
  EXPECT_THAT(refused([](ModelOptions& o) { o.max_rows = 0; }), HasSubstr("max_rows"));
  EXPECT_THAT(refused([](ModelOptions& o) { o.kv_type = DType::kQ8_0; }),
              HasSubstr("f32, f16, bf16 or int8, not in Q8_0"));
}

TEST(Model, ProgressEndsAtTheTotal) {
  compute::ThreadPool pool(1);
  const auto file = expect(format::open_model_file(testing::golden("llama", "model.gguf")));
  std::uint64_t last = 0, all = 0, calls = 0;
  (void)expect(Model::load(*file, expect(read_shape(*file)), {}, pool,
                           [&](std::uint64_t done, std::uint64_t total) {
                             EXPECT_GE(done, last);
                             last = done;
                             all = total;
                             ++calls;
                           }));
  EXPECT_GT(calls, 4U);
  EXPECT_EQ(last, all);
}

}  // namespace
}  // namespace weir::model
