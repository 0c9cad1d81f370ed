// What an answer is: the same however it was made, ended where it was asked to be, accounted for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/engine/test_bench.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

TEST(Engine, AnAnswerIsTheSameWhateverChunksItsPromptWasReadIn) {
  Request r = request(100, 40);
  r.top_logprobs = 5;
  const Answer want = Bench(chunks_of(64)).ask(r);
  EXPECT_EQ(want.tokens.size(), 40U);
  for (std::uint32_t chunk : {1U, 7U, 16U, 33U, 512U}) {
    EXPECT_EQ(Bench(chunks_of(chunk)).ask(r), want) << chunk;
  }
}

TEST(Engine, AnAnswerIsTheSameWhateverElseIsQueuedOrCancelled) {
  constexpr std::uint64_t kSeed = 20261129;
  SCOPED_TRACE(kSeed);
  const auto of = [](std::uint64_t i) {
    Request r = request(1 + philox(kSeed, i)[0] % 60, 1 + philox(kSeed, i)[1] % 30, i);
    r.ignore_eos = i % 2 == 0;
    return r;
  };
  std::vector<Answer> alone;
  for (std::uint64_t i = 0; i < 60; ++i) alone.push_back(Bench().ask(of(i)));

  Bench bench;
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (std::uint64_t i = 0; i < 60; ++i) {
    streams.push_back(bench.submit(of(i)));
    if (philox(kSeed, i, 1)[0] % 3 == 0) bench.submit(request(50, 100, i + 1000))->cancel();
  }
  for (std::uint64_t i = 0; i < 60; ++i) EXPECT_EQ(read(*streams[i]), alone[i]) << i;
}

TEST(Engine, WithoutASeedAnswersDiffer) {
  Bench bench;
  Request r = request(5, 30);
  r.sampling.seed.reset();
  EXPECT_NE(bench.ask(r).tokens, bench.ask(r).tokens);
}

TEST(Engine, AnAnswerEndsAtTheEndTokenWhichIsNotPartOfIt) {
  Bench bench;
  Request r = request(5, 200);
  r.sampling.logit_bias = {{kEnd, 5.0F}};
  r.ignore_eos = false;
  const Answer answer = bench.ask(r);
  EXPECT_EQ(answer.finish.reason, FinishReason::kStop);
  EXPECT_LT(answer.tokens.size(), 200U);
  EXPECT_THAT(answer.tokens, ::testing::Not(::testing::Contains(kEnd)));
  EXPECT_EQ(answer.finish.timings.answer_tokens, answer.tokens.size());
}

TEST(Engine, AStopTokenOfTheRequestEndsItAsWell) {
  Bench bench;
  Request r = request(5, 100);
  const Answer whole = bench.ask(r);
  r.stop_tokens = {whole.tokens[7]};
  const Answer cut = bench.ask(r);
  EXPECT_EQ(cut.finish.reason, FinishReason::kStop);
  EXPECT_LE(cut.tokens.size(), 7U);
  EXPECT_TRUE(std::equal(cut.tokens.begin(), cut.tokens.end(), whole.tokens.begin()));
}

TEST(Engine, EndTokensAreNotChosenBeforeMinTokens) {
  Bench bench;
  Request r = request(5, 60);
  r.ignore_eos = false;
  r.min_tokens = 20;
  r.sampling.logit_bias = {{kEnd, 100.0F}};
  const Answer answer = bench.ask(r);
  EXPECT_EQ(answer.tokens.size(), 20U);
  EXPECT_EQ(answer.finish.reason, FinishReason::kStop);
}

TEST(Engine, WithoutMaxTokensAnAnswerFillsTheContext) {
  Bench bench;
  const Answer answer = bench.ask(request(200, 0));
  EXPECT_EQ(answer.tokens.size(), 56U);
  EXPECT_EQ(answer.finish.reason, FinishReason::kLength);
}

TEST(Engine, LogprobsComeWhenAskedForAndOnlyThen) {
  Bench bench;
  Request r = request(5, 3);
  EXPECT_EQ(bench.ask(r).logprobs, (std::vector<float>{0, 0, 0}));
  r.top_logprobs = 0;
  const Answer chosen_only = bench.ask(r);
  EXPECT_LT(chosen_only.logprobs[0], 0);
  EXPECT_TRUE(chosen_only.top.empty());
  r.top_logprobs = 4;
  EXPECT_EQ(bench.ask(r).top.size(), 12U);
  r.sampling.temperature = 0;
  EXPECT_EQ(bench.ask(r).top[0], bench.ask(r).tokens[0]);
}

TEST(Engine, TimesAddUp) {
  Bench bench(running(1), {.row_time = 1ms});
  bench.script->hold();
  auto first = bench.submit(request(10, 5));
  bench.script->await(1);
  auto second = bench.submit(request(20, 3, 2));
  bench.script->release();
  (void)read(*first);
  const Timings t = read(*second).finish.timings;
  // 10 rows of prompt and 4 of decode: the fifth token needs no row of its own.
  EXPECT_EQ(t.queue, 14ms);
  EXPECT_EQ(t.waited_for, sched::Held::kSequences);
  EXPECT_EQ(t.prefill, 20ms);
  EXPECT_EQ(t.decode, 2ms);
  EXPECT_EQ(t.ttft(), 34ms);
  EXPECT_EQ(t.prompt_tokens, 20U);
  EXPECT_EQ(t.answer_tokens, 3U);
  EXPECT_EQ(t.chunks, 1U);
  EXPECT_EQ(t.cached_tokens, 0U);
}

}  // namespace
}  // namespace weir::engine
