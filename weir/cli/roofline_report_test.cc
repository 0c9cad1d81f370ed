#include "weir/cli/roofline_report.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "weir/plan/registry.h"

namespace weir::cli {
namespace {

using compute::Resource;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Typically so much.
measure::Spread at(double median) {
  return {.best = median * 1.1, .median = median, .p10 = median * 0.8, .samples = 25};
}

/// The machine of docs/performance.md, in round figures.
MeasuredMachine machine() {
  MeasuredMachine m;
  m.cpu = "A \"CPU\": 2 cores";
  m.target = "AVX3_DL";
  m.memory_bytes = 24'000'000'000;
  m.threads = 2;
  m.weight_set = 96'000'000;
  for (const std::size_t threads : {1, 2}) {
    const double n = static_cast<double>(threads);
    m.roofs.push_back({Resource::kMemory, threads, at(15e9 * n), true, 0});
    m.roofs.push_back({Resource::kWeights, threads, at(16.5e9 * n), true, 0});
    m.roofs.push_back({Resource::kInt8, threads, at(460e9 * n), true, 0});
    m.roofs.push_back({Resource::kF32, threads, at(104e9 * n), true, 0});
  }
  m.roofs.push_back({Resource::kBarrier, 2, at(20e6), true, 0});
  return m;
}

/// One kind of 5 bits a weight, ten times in a step, whose kernels take `each` seconds a row once
/// they compute.
MeasuredModel model(double one, double each) {
  MeasuredModel m;
  m.name = "five & <bits>";
  m.layers = 10;
  m.positions = 512;
  const measure::Work row{.bytes = 5e6 / 8 * 1, .int8_ops = 2e6};
  for (int i = 0; i < 10; ++i) m.row = m.row + row;
  for (const std::uint32_t rows : kBatches) {
    MeasuredKernel k;
    k.name = "gate+up";
    k.type = "Q4_1";
    k.outputs = 1000;
    k.columns = 1000;
    k.rows = rows;
    k.calls = 10;
    k.work = measure::with_rows(row, rows);
    k.rate = at(k.work.operations() / std::max(one / 10, each / 10 * rows));
    k.roofs = k.best_roofs = {.bandwidth = 33e9, .int8 = 920e9, .bf16 = 0, .f32 = 208e9};
    k.share = at(0.5);
    k.taken = 25;
    m.products.push_back(k);
  }
  for (const std::uint32_t sequences : {1U, kMostSequences}) {
    MeasuredKernel k;
    k.name = "attention";
    k.type = "BF16 KV";
    k.rows = sequences;
    k.calls = 10;
    k.work = {.bytes = 4e5 * sequences, .f32_ops = 1.2e6 * sequences};
    k.rate = at(50e9);
    k.taken = 25;
    k.roofs = k.best_roofs = {.bandwidth = 33e9, .int8 = 0, .bf16 = 0, .f32 = 208e9};
    m.attention.push_back(k);
  }
  return m;
}

TEST(Roofline, ThreadCountsDoubleUpToTheMost) {
  EXPECT_THAT(thread_counts(1), ElementsAre(1));
  EXPECT_THAT(thread_counts(2), ElementsAre(1, 2));
  EXPECT_THAT(thread_counts(6), ElementsAre(1, 2, 4, 6));
}

TEST(Roofline, TheCrossoverIsOfTheFormulaAndOfTheKernels) {
  const Crossover c = crossover_of(machine(), model(3e-3, 0.5e-3));
  EXPECT_NEAR(c.formula, 5.0 / 16 * 920.0 / 33.0, 1e-9);
  EXPECT_NEAR(c.measured, 6, 1e-9);
  MeasuredModel slow = model(3e-3, 0.5e-3);
  for (std::size_t i = 0; i < 4; ++i) slow.products[i].roofs.bandwidth = 16.5e9;
  EXPECT_NEAR(crossover_of(machine(), slow).beside, 2 * c.formula, 1e-9)
      << "the median of six kernels, of which four found memory half as fast";
}

TEST(Roofline, ABatchThatNotAllKernelsSawHasNoTime) {
  MeasuredModel m = model(3e-3, 0.5e-3);
  EXPECT_NEAR(m.product_seconds(1).value_or(0), 3e-3, 1e-12);
  EXPECT_NEAR(m.product_seconds(128).value_or(0), 64e-3, 1e-12);
  EXPECT_FALSE(m.product_seconds(2));
  m.products.pop_back();
  EXPECT_FALSE(m.product_seconds(128));
  EXPECT_EQ(crossover_of(machine(), m).measured, 0);
}

TEST(Roofline, FewRowsNeedFewBarriers) {
  MeasuredModel m;
  m.layers = 30;
  EXPECT_EQ(m.barriers(1), 151);
  EXPECT_EQ(m.barriers(4), 151);
  EXPECT_EQ(m.barriers(5), 242);
  m.post_norms = true;
  EXPECT_EQ(m.barriers(32), 302);
}

TEST(Roofline, OfDisturbedSamplesTheBestCounts) {
  MeasuredMachine m = machine();
  for (MachineRoof& roof : m.roofs) roof.clean = false;
  EXPECT_DOUBLE_EQ(m.roof(Resource::kMemory), 1.1 * 30e9);
  MeasuredModel disturbed = model(3e-3, 0.5e-3);
  for (MeasuredKernel& k : disturbed.products) k.disturbed = k.taken - 2;
  EXPECT_NEAR(disturbed.product_seconds(1).value_or(0), 3e-3 / 1.1, 1e-12);
}

TEST(Roofline, ThePlannerKnowsTheMachineByItsFile) {
  auto registry = plan::Registry::built_in();
  ASSERT_TRUE(registry);
  const std::string yaml = roofline_yaml(machine());
  const Status read = registry->overlay(yaml, "roofline.yaml");
  ASSERT_TRUE(read) << read.error().message << "\n" << yaml;
  const plan::Device& here = registry->devices.at("here");
  EXPECT_THAT(here.title, HasSubstr("A \"CPU\": 2 cores"));
  EXPECT_DOUBLE_EQ(here.memory.value, 24e9);
  EXPECT_DOUBLE_EQ(here.bandwidth.value, 30e9) << "memory, not what caches help with";
  EXPECT_DOUBLE_EQ(here.int8.value, 920e9);
  EXPECT_DOUBLE_EQ(here.fp16.value, 208e9) << "without bf16 dots, what f32 does";
}

TEST(Roofline, TheAnswerHasTheBatchInItsFirstSentences) {
  const plan::Answer answer = roofline_answer({machine(), model(3e-3, 0.5e-3)});
  EXPECT_THAT(answer.headline, HasSubstr("compute-bound here at a batch of 8.7"));
  EXPECT_THAT(answer.headline, HasSubstr("and of 6 by its kernels"));
  EXPECT_NEAR(answer.at("bits"), 5, 1e-9);
  EXPECT_NEAR(answer.at("ridge"), 920.0 / 33.0, 1e-9);
  EXPECT_EQ(answer.tables.size(), 3U);
  ASSERT_EQ(answer.tables.back().rows.size(), 2U) << "1 and 32 sequences have their attention";
  const std::string svg = plan::write_svg(answer.charts.front());
  EXPECT_THAT(svg, HasSubstr("five &amp; &lt;bits&gt;"));
  EXPECT_THAT(svg, HasSubstr("<circle"));
}

TEST(Roofline, AMachineAloneHasNoModelsFigures) {
  const RooflineRun run = {machine(), std::nullopt};
  EXPECT_EQ(roofline_answer(run).tables.size(), 1U);
  const auto object = roofline_json(run);
  EXPECT_TRUE(object.at("model").is_null());
  EXPECT_EQ(object.at("machine").at("roofs").as_array().size(), machine().roofs.size());
}

TEST(CheckRoom, SpellsTheSumOut) {
  const MemoryPart parts[] = {{"weights", 3'000'000'000}, {"memory to read", 2'000'000'000}};
  EXPECT_TRUE(check_room(parts, 5'000'000'000, ""));
  const Status full = check_room(parts, 4'000'000'000, "free some");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kExhausted);
  EXPECT_THAT(full.error().message,
              HasSubstr("weights 3.00 GB + memory to read 2.00 GB = 5.00 GB, but 4.00 GB are "
                        "available; free"));
  const MemoryPart endless[] = {{"a", UINT64_MAX}, {"b", 2}};
  EXPECT_FALSE(check_room(endless, UINT64_MAX - 1, "")) << "a sum that overflows is no small one";
}

}  // namespace
}  // namespace weir::cli
