// The tables of the chapter "Inference at Scale", as far as they are arithmetic: sharding and
// interconnects (sections 12 and 13). One test a row or group of rows that one question answers,
// named after its section. What was measured there is quoted by the planner and not tested; where
// its figures disagree with each other, the test says which one is kept.

#include <gtest/gtest.h>

#include <string>

#include "weir/plan/ask_test.h"
#include "weir/plan/batching.h"

namespace weir::plan {
namespace {

// Section 12: sharding.

TEST(Chapter12, AHundredAndFortyGigabytesTakeTwoDevices) {
  EXPECT_EQ(answer_to("shard", {{"model", "llama-2-70b"}, {"device", "h100"}, {"sizes", "decimal"}})
                .at("min_degree"),
            2);
}

TEST(Chapter12, AHundredTerabytesOfEmbeddingsTakeAThousandShards) {
  EXPECT_EQ(
      answer_to("shard", {{"embeddings", "100TB"}, {"queries", "1M"}, {"shard-memory", "100GB"}})
          .at("embedding_shards"),
      1000);
}

TEST(Chapter12, EightWayTensorParallelismOfALayer) {
  const Answer a = answer_to("shard", {{"layer", "attention=12ms,feed-forward=18ms"},
                                       {"degree", "8"},
                                       {"reduce", "0.3ms"},
                                       {"layers", "80"}});
  EXPECT_NEAR(a.at("layer"), 0.030, 1e-9);
  EXPECT_NEAR(a.at("layer_split"), 0.00435, 1e-9);
  EXPECT_NEAR(a.at("layer_speedup"), 6.9, 0.05);
  EXPECT_NEAR(a.at("stack"), 2.4, 1e-9);
  EXPECT_NEAR(a.at("stack_split"), 0.348, 1e-9);
}

TEST(Chapter12, DeepSeekV3AgainstADenseModel) {
  const Answer a = answer_to(
      "shard",
      {{"model", "deepseek-v3"}, {"device", "h100"}, {"weights", "fp8"}, {"sizes", "decimal"}});
  EXPECT_NEAR(a.at("moe_saving"), 10.8, 0.05);
  EXPECT_NEAR(a.at("active_each"), 2.3e9, 0.05e9);
  EXPECT_NEAR(a.at("token_rate"), 1000, 15);
  EXPECT_NEAR(answer_to("fit", {{"model", "deepseek-v3"}}).at("weights"), 1342e9, 1);
  EXPECT_NEAR(answer_to("fit", {{"model", "dense-400b"}}).at("weights"), 800e9, 1);
}

TEST(Chapter12, AMixtralLayerByItsParts) {
  EXPECT_NEAR(answer_to("shard", {{"moe", "gate=0.1ms,all-to-all=0.2ms,expert=1ms,gather=0.2ms"}})
                  .at("moe_layer"),
              1.5e-3, 1e-9);
}

TEST(Chapter12, AnUnevenGateIdlesDevices) {
  const Answer a = answer_to("shard", {{"moe", "gate=1ms"}});
  const std::size_t table = 1;
  EXPECT_NEAR(cell(a, table, 0, 1), 1.0, 1e-9);
  EXPECT_NEAR(cell(a, table, 1, 1), 0.83, 0.005);
  EXPECT_NEAR(cell(a, table, 2, 1), 0.67, 0.005);
}

TEST(Chapter12, EmbeddingTiersAreHotWarmAndCold) {
  const Answer a = answer_to("shard", {{"embeddings", "100TB"}, {"queries", "1M"}});
  const double parts[] = {0.01, 0.10, 0.89};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(cell(a, 1, i, 1), parts[i], 1e-12);
}

TEST(Chapter12, DecodeWithinAnSloNeverExceedsItWhereOperationsBind) {
  // Past the roofline's ridge a step costs operations; the largest batch must count them.
  const Answer a =
      answer_to("batch", {{"model", "llama-3-8b"}, {"device", "h100"}, {"slo", "20ms"}});
  const BatchCost cost{{a.at("fixed")}, {a.at("each")}, {a.at("hidden")}};
  EXPECT_GT(a.at("largest"), a.at("compute_bound"));
  EXPECT_LE(batch_time(cost, a.at("largest")).value, 0.02);
  EXPECT_GT(batch_time(cost, a.at("largest") + 1).value, 0.02);
}

// Section 13: interconnects.

struct Wire {
  const char* link;
  double bandwidth_only_ms, share_of_30_ms, with_alpha_ms;
};
void PrintTo(const Wire& w, std::ostream* out) { *out << w.link; }

class Chapter13Links : public testing::TestWithParam<Wire> {};

TEST_P(Chapter13Links, AllReduceOfEightMegabytesOverEightDevices) {
  const Answer a =
      answer_to("shard", {{"degree", "8"}, {"message", "8MB"}, {"link", GetParam().link}});
  const double ms = a.at("all_reduce_bandwidth") * 1e3;
  if (GetParam().bandwidth_only_ms > 0) {
    EXPECT_NEAR(ms, GetParam().bandwidth_only_ms, 0.005);
    EXPECT_NEAR(ms / 30, GetParam().share_of_30_ms, 0.0005);
  }
  EXPECT_NEAR(a.at("all_reduce") * 1e3, GetParam().with_alpha_ms, GetParam().with_alpha_ms * 0.003);
}

INSTANTIATE_TEST_SUITE_P(, Chapter13Links,
                         testing::Values(Wire{"nvlink", 0.0156, 0.0005, 0.0296},
                                         Wire{"pcie5", 0, 0, 0.289},
                                         Wire{"ib-hdr", 0.56, 0.019, 0.609},
                                         Wire{"eth-100", 1.12, 0.037, 1.26}),
                         [](const auto& row) {
                           std::string name = row.param.link;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Chapter13, AMeasuredAllReduceLiesWithinTheModelsOrder) {
  // Vidur's profile of 8 MiB over 8 H100s: a median of 74 us. The formula leaves out what software
  // adds.
  const double modelled =
      answer_to("shard", {{"degree", "8"}, {"message", "8MiB"}}).at("all_reduce");
  EXPECT_GT(modelled, 74e-6 / 3);
  EXPECT_LT(modelled, 74e-6);
}

}  // namespace
}  // namespace weir::plan
