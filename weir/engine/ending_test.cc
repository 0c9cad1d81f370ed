// Answers that end early: enough was read, somebody left, it is too late, the logits are no
// numbers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/engine/test_bench.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(Engine, WhoHasReadEnoughStopsTheAnswerWhichIsFinished) {
  Bench bench;
  bench.script->hold();
  auto stream = bench.submit(request(4, 100));
  bench.script->let(5);
  bench.script->await(6);
  stream->stop(3);
  bench.script->release();
  const Answer answer = read(*stream);
  EXPECT_EQ(answer.finish.reason, FinishReason::kStop);
  EXPECT_EQ(answer.tokens.size(), 6U);
  const EngineStats s = bench.settled();
  EXPECT_EQ(s.finished, 1U);
  EXPECT_EQ(s.cancelled, 0U);
  EXPECT_EQ(s.delivered_tokens, 3U);
  EXPECT_EQ(s.wasted_tokens, 3U);
}

TEST(Engine, AnAccountIsKeptWhileARequestLives) {
  Bench bench({}, {.row_time = 1ms});
  bench.script->hold();
  Request r = request(4, 10);
  r.id = "req-1";
  auto stream = bench.submit(r);
  bench.script->let(3);
  bench.script->await(4);
  const auto account = bench.engine->account(stream->id());
  ASSERT_TRUE(account);
  EXPECT_EQ(account->request_id, "req-1");
  EXPECT_TRUE(account->progress.running);
  EXPECT_EQ(account->progress.answer_tokens, 3U);
  EXPECT_EQ(account->timings.prompt_tokens, 4U);
  EXPECT_GE(bench.engine->step_age(), 0ms);
  bench.script->release();
  (void)read(*stream);
  (void)bench.settled();
  EXPECT_FALSE(bench.engine->account(stream->id()));
  EXPECT_EQ(bench.engine->step_age(), 0ms);
}

TEST(Engine, CancellingARunningAnswerStopsItAtTheNextStep) {
  Bench bench({}, {.row_time = 1ms});
  bench.script->hold();
  auto stream = bench.submit(request(4, 100));
  bench.script->let(3);
  bench.script->await(4);  // In the fourth step, which decodes the third token.
  stream->cancel();
  bench.script->let(1);
  const Answer answer = read(*stream);
  EXPECT_EQ(answer.finish.reason, FinishReason::kCancelled);
  EXPECT_EQ(answer.tokens.size(), 4U);
  const EngineStats s = bench.settled();
  EXPECT_EQ(s.cancelled, 1U);
  EXPECT_EQ(s.wasted_tokens, 4U);
  EXPECT_EQ(s.delivered_tokens, 0U);
  EXPECT_EQ(s.last_cancel_delay, 1ms);
  EXPECT_EQ(s.units_held, 0U);
  EXPECT_EQ(bench.script->begun(), 4U);
}

TEST(Engine, CancellingInPrefillComputesNoFurtherChunk) {
  Bench bench(chunks_of(16), {.row_time = 1ms});
  bench.script->hold();
  auto stream = bench.submit(request(160, 10));
  bench.script->let(1);
  bench.script->await(2);
  stream->cancel();
  bench.script->release();
  EXPECT_EQ(read(*stream).finish.reason, FinishReason::kCancelled);
  const EngineStats s = bench.settled();
  EXPECT_EQ(s.prompt_tokens, 32U);
  EXPECT_EQ(s.last_cancel_delay, 16ms);
}

TEST(Engine, CancellingAWaitingRequestTakesItOutBeforeItsTurn) {
  Bench bench(running(1));
  bench.script->hold();
  auto running = bench.submit(request(4, 100));
  bench.script->await(1);
  auto waiting = bench.submit(request(4, 100));
  auto last = bench.submit(request(4, 5));
  waiting->cancel();
  bench.script->let(1);
  EXPECT_EQ(read(*waiting).finish.reason, FinishReason::kCancelled);
  const EngineStats s = bench.engine->stats();
  EXPECT_EQ(s.running, 1U);
  EXPECT_EQ(s.waiting, 1U);
  EXPECT_EQ(s.cancelled, 1U);
  bench.script->release();
  EXPECT_EQ(read(*running).tokens.size(), 100U);
  EXPECT_EQ(read(*last).tokens.size(), 5U);
}

TEST(Engine, ADeadlineEndsARunningAnswerWithAnError) {
  Bench bench({}, {.row_time = 1ms});
  Request r = request(4, 100);
  r.deadline = bench.clock.now() + 10ms;
  const Answer answer = bench.ask(r);
  EXPECT_EQ(answer.finish.reason, FinishReason::kError);
  EXPECT_EQ(answer.finish.error.code, Code::kDeadline);
  EXPECT_THAT(answer.finish.error.message, HasSubstr("7 tokens"));
  EXPECT_EQ(answer.tokens.size(), 7U);  // 4 ms of prompt gave the first, then one a millisecond.
  EXPECT_EQ(bench.settled().failed, 1U);
}

TEST(Engine, ADeadlineEndsAWaitingRequestWithoutAStep) {
  Bench bench(running(1), {.row_time = 1ms});
  bench.script->hold();
  auto running = bench.submit(request(4, 50));
  bench.script->await(1);
  Request r = request(4, 5);
  r.deadline = bench.clock.now() + 10ms;
  auto waiting = bench.submit(r);
  bench.script->release();
  const Answer answer = read(*waiting);
  EXPECT_EQ(answer.finish.error.code, Code::kDeadline);
  EXPECT_THAT(answer.finish.error.message, HasSubstr("waiting"));
  EXPECT_EQ(read(*running).tokens.size(), 50U);
  EXPECT_EQ(bench.settled().prompt_tokens, 4U);
}

TEST(Engine, LogitsThatAreNotNumbersFailTheirRequestOnly) {
  Bench bench({}, {.poison = 42});
  Request sick = request(10, 5);
  sick.prompt[3] = 42;
  Request healthy = request(10, 5, 7);
  for (TokenId& t : healthy.prompt) t = t == 42 ? 43 : t;
  healthy.sampling.logit_bias = {{42, -100.0F}};
  auto a = bench.submit(healthy);
  auto b = bench.submit(sick);
  auto c = bench.submit(healthy);
  const Answer good = read(*a);
  const Answer bad = read(*b);
  EXPECT_EQ(bad.finish.reason, FinishReason::kError);
  EXPECT_EQ(bad.finish.error.code, Code::kInternal);
  EXPECT_EQ(good.tokens.size(), 5U);
  EXPECT_EQ(read(*c), good);
}

}  // namespace
}  // namespace weir::engine
