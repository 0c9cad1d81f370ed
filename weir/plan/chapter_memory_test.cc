// The tables of the chapter "Inference at Scale", as far as they are arithmetic: the KV cache
// (section 11). One test a row or group of rows that one question answers, named after its section.
// What was measured there is quoted by the planner and not tested; where its figures disagree with
// each other, the test says which one is kept.

#include <gtest/gtest.h>

#include <string>

#include "weir/plan/ask_test.h"
#include "weir/plan/memory.h"

namespace weir::plan {
namespace {

// Section 11: the KV cache.

TEST(Chapter11, EightDevicesOfEightyGigabytesHoldEleven) {
  // The same question as Mission.EightH100s..., read as 80 GB instead of 80 GiB: 11 and not 12.
  const Answer a = answer_to("fit", {{"model", "llama-3-70b"},
                                     {"device", "h100"},
                                     {"devices", "8"},
                                     {"context", "131072"},
                                     {"overhead", "20GB"},
                                     {"pool-fraction", "1"},
                                     {"sizes", "decimal"}});
  EXPECT_NEAR(a.at("total"), 640e9, 1);
  EXPECT_NEAR(a.at("pool"), 478.8e9, 0.01e9);
  EXPECT_EQ(a.at("max_batch"), 11);
  EXPECT_NE(a.notes.at(0).find("12 sequences"), std::string::npos) << a.notes.at(0);
}

TEST(Chapter11, TheKvWallStandsBeforeTwoFullContexts) {
  const Answer a = answer_to("fit", {{"model", "llama-2-70b"},
                                     {"device", "h100"},
                                     {"weights", "int4"},
                                     {"context", "128000"},
                                     {"sizes", "decimal"},
                                     {"pool-fraction", "1"}});
  EXPECT_NEAR(a.at("weights"), 35e9, 1);
  EXPECT_NEAR(a.at("kv_per_token") * 1000, 0.32768e9, 1);
  EXPECT_NEAR(2 * a.at("kv_per_sequence"), 84e9, 0.5e9);
  EXPECT_EQ(a.at("max_batch"), 1);
}

TEST(Chapter11, OneBlockForTheLongestAnswerWastesNearlyAllOfIt) {
  const Answer a =
      answer_to("fit", {{"model", "llama-2-70b"}, {"context", "4096"}, {"mean-tokens", "100"}});
  EXPECT_NEAR(a.at("contiguous_waste"), 0.975, 0.001);
  EXPECT_GT(
      answer_to("fit", {{"model", "llama-2-70b"}, {"context", "4096"}, {"mean-tokens", "1000"}})
          .at("paged_use"),
      0.95);
}

TEST(Chapter11, ASharedPrefixHoldsFiveTimesTheUsers) {
  EXPECT_NEAR(answer_to("cache", {}).at("times"), 5, 0.05);
}

TEST(Chapter11, GroupedHeadsTakeAnEighthAndFourBitsAQuarter) {
  const auto kv = [](const char* model, const char* type) {
    return answer_to("fit", {{"model", model}, {"kv", type}, {"context", "4096"}})
        .at("kv_per_sequence");
  };
  EXPECT_NEAR(kv("llama-70b-mha", "fp16") / kv("llama-2-70b", "fp16"), 8, 1e-9);
  EXPECT_NEAR(kv("llama-70b-mha", "fp16") / kv("llama-70b-mha", "int4"), 4, 1e-9);
  EXPECT_NEAR(8 * kv("llama-70b-mha", "fp16"), 85.9e9, 0.05e9);
}

TEST(Chapter11, ThePrecisionDividendDeviceByDevice) {
  const Answer a =
      answer_to("quantize", {{"model", "llama-70b-mha"}, {"devices", "4"}, {"sizes", "decimal"}});
  EXPECT_NEAR(a.at("weights_each"), 35e9, 1);
  EXPECT_NEAR(a.at("small_weights_each"), 8.75e9, 1);
  EXPECT_NEAR(a.at("room_each"), 45e9, 1);
  EXPECT_NEAR(a.at("small_room_each"), 71.25e9, 1);
  EXPECT_NEAR(a.at("kv_each"), 2.7e9, 0.05e9);
  EXPECT_NEAR(a.at("small_kv_each"), 1.3e9, 0.05e9);
}

TEST(Chapter11, ADevicesPartOfAConversationIs168Megabytes) {
  const Answer a =
      answer_to("disagg", {{"model", "llama-2-70b"}, {"device", "h100"}, {"prompt", "4096"}});
  EXPECT_NEAR(a.at("shard_state"), 168e6, 0.5e6);
  EXPECT_NEAR(a.at("shard_handoff"), 0.013, 0.0005);
  EXPECT_NEAR(a.at("handoff"), 0.1, 0.01);
}

TEST(Chapter11, HostMemoryKeepsTenTimesTheSequences) {
  const Answer a = answer_to("fit", {{"model", "llama-2-70b"}, {"context", "4096"}});
  EXPECT_GT(cell(a, 1, 1, 2) / cell(a, 1, 0, 2), 10);  // DRAM over device memory.
}

TEST(Chapter11, MovingAPartWhileTheRestIsMadeAgainIsFasterThanEither) {
  const Answer a = answer_to("disagg", {{"state", "1.3GB"}, {"rebuild", "500ms"}});
  EXPECT_LT(a.at("hybrid"), a.at("handoff"));
  EXPECT_NEAR(1 / a.at("hybrid"), 1 / a.at("handoff") + 1 / 0.5, 1e-9);
}

}  // namespace
}  // namespace weir::plan
