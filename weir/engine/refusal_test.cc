// What is not accepted, and what its sender is told.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/engine/test_bench.h"

namespace weir::engine {
namespace {

using ::testing::HasSubstr;

TEST(Engine, AFullQueueRefusesByNumberAndByTokens) {
  EngineOptions options = running(1);
  options.schedule.max_queued_requests = 2;
  options.schedule.max_queued_tokens = 300;
  Bench bench(options);
  bench.script->hold();
  auto running = bench.submit(request(4, 10));
  bench.script->await(1);
  auto one = bench.submit(request(200, 10));
  EXPECT_EQ(bench.refusal(request(101, 10)).code, Code::kExhausted);
  auto two = bench.submit(request(100, 10));
  EXPECT_EQ(bench.refusal(request(1, 1)).code, Code::kExhausted);
  bench.script->release();
  EXPECT_EQ(read(*two).tokens.size(), 10U);
  EXPECT_EQ(bench.settled().refused, 2U);
}

TEST(Engine, WhatARequestGetsWrongIsNamed) {
  Bench bench;
  EXPECT_THAT(bench.refusal(request(0, 5)).message, HasSubstr("no tokens"));
  Request r = request(5, 5);
  r.prompt[2] = 97;
  EXPECT_EQ(bench.refusal(r).message, "prompt token 2 is 97, but this model's tokens are 0 to 96");
  r = request(5, 5);
  r.prompt[4] = -1;
  EXPECT_EQ(bench.refusal(r).code, Code::kInvalidArgument);
  r = request(5, 5);
  r.min_tokens = 6;
  EXPECT_EQ(bench.refusal(r).subject, "min_tokens");
  r = request(5, 5);
  r.top_logprobs = 21;
  EXPECT_EQ(bench.refusal(r).subject, "top_logprobs");
  r = request(5, 5);
  r.stop_tokens = {-3};
  EXPECT_EQ(bench.refusal(r).subject, "stop_token_ids");
  r = request(5, 5);
  r.sampling.top_p = 0;
  EXPECT_EQ(bench.refusal(r).subject, "top_p");
  EXPECT_EQ(bench.engine->stats().refused, 7U);
  EXPECT_EQ(bench.engine->stats().accepted, 0U);
}

TEST(Engine, APromptAndAnswerBeyondTheContextAreRefusedWithTheNumbers) {
  Bench bench;
  Error e = bench.refusal(request(200, 57));
  EXPECT_EQ(e.code, Code::kContextLength);
  EXPECT_EQ(
      e.message,
      "This model's maximum context length is 256 tokens. However, you requested 257 tokens (200 "
      "in the messages, 57 in the completion). Please reduce the length of the messages or "
      "completion.");
  e = bench.refusal(request(300, 0));
  EXPECT_EQ(
      e.message,
      "This model's maximum context length is 256 tokens. However, your messages resulted in 300 "
      "tokens. Please reduce the length of the messages.");
  EXPECT_EQ(bench.refusal(request(256, 0)).code, Code::kContextLength);
  EXPECT_EQ(bench.ask(request(200, 56)).tokens.size(), 56U);
  EXPECT_EQ(bench.ask(request(255, 0)).tokens.size(), 1U);
}

TEST(Engine, TheContextIsNoLargerThanThePagesHold) {
  ScriptOptions small;
  small.facts.kv_units = 4;
  Bench bench({}, small);
  EXPECT_EQ(bench.engine->context(), 64U);
  EXPECT_EQ(bench.ask(request(60, 0)).tokens.size(), 4U);
  EngineOptions shorter;
  shorter.context = 100;
  Bench optional(shorter);
  EXPECT_EQ(optional.engine->context(), 100U);
}

}  // namespace
}  // namespace weir::engine
