#include "weir/measure/trace.h"

#include <gtest/gtest.h>

namespace weir::measure {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kAzure =
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
    "2023-11-16 23:59:59.5000000,4808,10\r\n"
    "2023-11-17 00:00:01.0000000,3180,0\r\n"
    "2023-11-17 00:00:00.0000000,110,27\r\n";

constexpr std::string_view kMooncake =
    R"({"timestamp": 1000, "input_length": 1000, "output_length": 500, "hash_ids": [0, 7]})"
    "\n"
    R"({"timestamp": 4000, "input_length": 1200, "output_length": 49, "hash_ids": [0, 8, 9]})"
    "\n";

TEST(Trace, AzureIsReadInOrderOfTime) {
  const auto trace = parse_trace(kAzure);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "azure");
  ASSERT_EQ(trace->entries.size(), 3U);
  EXPECT_EQ(trace->entries[0].at, milliseconds(0));
  EXPECT_NEAR(seconds(trace->entries[1].at), 0.5, 1e-6);
  EXPECT_NEAR(seconds(trace->entries[2].at), 1.5, 1e-6);
  EXPECT_EQ(trace->entries[1].input, 110U);
  EXPECT_EQ(trace->entries[2].output, 1U) << "an answer of none is one of one";
}

TEST(Trace, MooncakeKeepsItsBlocks) {
  const auto trace = parse_trace(kMooncake);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "mooncake");
  EXPECT_EQ(trace->entries[1].at, milliseconds(3000));
  EXPECT_EQ(trace->entries[1].blocks, (std::vector<std::uint64_t>{0, 8, 9}));
  EXPECT_EQ(trace->entries[1].block_tokens, 512U);
}

TEST(Trace, LengthsAloneHaveNoTimes) {
  const auto trace = parse_trace(
      "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n74,918,992,0.08");
  ASSERT_TRUE(trace);
  EXPECT_FALSE(trace->timed);
  EXPECT_EQ(trace->entries[0].input, 74U);
  EXPECT_EQ(trace->entries[0].output, 918U);
}

TEST(Trace, AWrongLineIsNamed) {
  const std::string broken = std::string(kAzure) + "2023-13-40 00:00:00,1,2\n";
  const auto trace = parse_trace(broken);
  ASSERT_FALSE(trace);
  EXPECT_NE(trace.error().message.find("line 5"), std::string::npos) << trace.error().message;
  for (const char* text :
       {"", "hello", "TIMESTAMP,ContextTokens,GeneratedTokens\n", "{\n", "{}\n",
        "{\"timestamp\":1}\n", R"({"timestamp":-1,"input_length":1,"output_length":1})",
        R"({"timestamp":1e12,"input_length":1,"output_length":1})",
        R"({"timestamp":1,"input_length":1e9,"output_length":1})",
        R"({"timestamp":1,"input_length":1,"output_length":1,"hash_ids":["a"]})",
        R"({"timestamp":1,"input_length":1,"output_length":1,"hash_ids":[-4]})",
        "num_prefill_tokens,num_decode_tokens\n-1,3\n"}) {
    EXPECT_FALSE(parse_trace(text)) << text;
  }
}

TEST(Trace, AWindowIsCutAndStretched) {
  const auto trace = *parse_trace(kAzure);
  const auto cut =
      cut_trace(trace, {.from = milliseconds(400), .length = milliseconds(1000), .stretch = 4});
  ASSERT_TRUE(cut);
  ASSERT_EQ(cut->size(), 1U);
  EXPECT_NEAR(seconds(cut->front().at), 0.4, 1e-6);
  EXPECT_FALSE(cut_trace(trace, {.from = std::chrono::hours(1)}));
  EXPECT_FALSE(cut_trace(trace, {.stretch = 0}));
  EXPECT_FALSE(
      cut_trace({.format = "", .timed = true, .entries = {{.at = std::chrono::hours(1000)}}},
                {.stretch = 1e6}));
}

TEST(Trace, ScalingLengthsKeepsWhatPrefixesShare) {
  const auto cut = cut_trace(*parse_trace(kMooncake), {.length_scale = 1.0 / 8});
  ASSERT_TRUE(cut);
  const Plan plan = make_plan(*cut, {});
  EXPECT_EQ(plan.requests[0].prompt_tokens(), 125U);
  EXPECT_EQ(plan.requests[1].prompt_tokens(), 150U);
  EXPECT_EQ(plan.requests[0].user[0], plan.requests[1].user[0]);
  EXPECT_EQ(plan.requests[0].user[0].tokens, 64U);
  EXPECT_NE(plan.requests[0].user[1].seed, plan.requests[1].user[1].seed);
}

TEST(Trace, WhatDoesNotFitTheContextIsLeftOut) {
  const auto cut = cut_trace(*parse_trace(kAzure), {.max_tokens = 4000});
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->size(), 2U);
  EXPECT_EQ(cut_trace(*parse_trace(kAzure), {.most = 1})->size(), 1U);
}

}  // namespace
}  // namespace weir::measure
