#include "weir/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "weir/base/random.h"
#include "weir/engine/scripted_decoder.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr TokenId kEnd = 2;

struct Answer {
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  std::vector<TokenId> top;
  Finish finish;
  friend bool operator==(const Answer& a, const Answer& b) {
    return a.tokens == b.tokens && a.logprobs == b.logprobs && a.top == b.top &&
           a.finish.reason == b.finish.reason;
  }
};

Answer read(TokenStream& stream) {
  Answer answer;
  std::vector<TokenEvent> events;
  for (;;) {
    stream.wait(1h);
    events.clear();
    auto finish = stream.take(events);
    for (const TokenEvent& e : events) {
      answer.tokens.push_back(e.token);
      answer.logprobs.push_back(e.logprob);
      for (const auto& t : e.top) answer.top.push_back(t.token);
    }
    if (finish) {
      answer.finish = *std::move(finish);
      return answer;
    }
  }
}

/// An engine over a script, and requests in one line.
struct Bench {
  sys::ManualClock clock;
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::unique_ptr<Engine> engine;

  explicit Bench(EngineOptions options = {}, ScriptOptions s = {}) {
    s.clock = &clock;
    engine = std::make_unique<Engine>(std::make_unique<ScriptedDecoder>(s, script),
                                      std::vector<TokenId>{kEnd}, clock, options);
  }
  ~Bench() { script->release(); }

  std::shared_ptr<TokenStream> submit(Request r) {
    auto stream = engine->submit(std::move(r));
    EXPECT_TRUE(stream.has_value()) << stream.error().message;
    return *stream;
  }
  Answer ask(Request r) { return read(*submit(std::move(r))); }
  Error refusal(Request r) {
    auto stream = engine->submit(std::move(r));
    EXPECT_FALSE(stream.has_value());
    return stream ? Error{} : stream.error();
  }
  /// When everything accepted has ended.
  EngineStats settled() {
    while (engine->stats().waiting + engine->stats().running > 0) std::this_thread::yield();
    return engine->stats();
  }
};

/// What tests set of the schedule, in one line.
EngineOptions chunks_of(std::uint32_t rows) {
  EngineOptions o;
  o.schedule.max_chunk = rows;
  return o;
}
EngineOptions running(std::uint32_t most) {
  EngineOptions o;
  o.schedule.max_running = most;
  return o;
}

Request request(std::size_t prompt, std::uint32_t max_tokens, std::uint64_t seed = 1) {
  Request r;
  for (std::size_t i = 0; i < prompt; ++i) {
    r.prompt.push_back(static_cast<TokenId>(3 + philox(seed, i)[0] % 90));
  }
  r.max_tokens = max_tokens;
  r.sampling.seed = seed;
  r.ignore_eos = true;
  return r;
}

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

TEST(Engine, AnswersAreMadeTogether) {
  Bench bench({}, {.row_time = 1ms});
  bench.script->hold();
  auto first = bench.submit(request(4, 50));
  bench.script->await(1);
  auto second = bench.submit(request(4, 50, 2));
  bench.script->release();
  EXPECT_EQ(read(*first).tokens.size(), 50U);
  EXPECT_EQ(read(*second).tokens.size(), 50U);
  // One step reads the first prompt, one the second beside the first's decode, and the rest is two
  // rows a step.
  EXPECT_EQ(bench.settled().steps, 51U);
}

TEST(Engine, ARepeatedPromptIsFoundInMemory) {
  Bench bench;
  const Request r = request(100, 10);
  const Answer cold = bench.ask(r);
  const Answer warm = bench.ask(r);
  EXPECT_EQ(warm, cold);
  EXPECT_EQ(cold.finish.timings.cached_tokens, 0U);
  EXPECT_EQ(warm.finish.timings.cached_tokens, 99U);
  const EngineStats s = bench.settled();
  EXPECT_EQ(s.prompt_tokens, 101U);
  EXPECT_EQ(s.cached_tokens, 99U);
  EXPECT_EQ(s.queried_tokens, 200U);
}

TEST(Engine, PrefixesAreNotSharedAcrossNamespaces) {
  Bench bench;
  Request r = request(100, 10);
  const Answer cold = bench.ask(r);
  r.space = kv::Namespace{7};
  const Answer other = bench.ask(r);
  EXPECT_EQ(other, cold);
  EXPECT_EQ(other.finish.timings.cached_tokens, 0U);
}

TEST(Engine, FurtherAnswersShareThePromptOfTheirLeader) {
  Bench bench;
  Request r = request(100, 10);
  bench.script->hold();
  std::vector<std::shared_ptr<TokenStream>> streams{bench.submit(r)};
  std::vector<Answer> alone{Bench().ask(r)};
  r.leader = streams[0]->id();
  for (std::uint64_t i = 1; i < 4; ++i) {
    r.sampling.seed = 1 + i;
    streams.push_back(bench.submit(r));
    Request same = r;
    same.leader.reset();
    alone.push_back(Bench().ask(same));
  }
  bench.script->release();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(read(*streams[i]), alone[i]) << i;
  // The prompt once, and its last position for each of the three others.
  EXPECT_EQ(bench.settled().prompt_tokens, 103U);
}

TEST(Engine, MemoryPressurePreemptsAndNobodyNotices) {
  ScriptOptions small;
  small.facts.kv_pages = 16;  // One context's worth for six answers of 100 positions each.
  Bench bench({}, small);
  bench.script->hold();
  std::vector<std::shared_ptr<TokenStream>> streams;
  for (std::uint64_t i = 0; i < 6; ++i) streams.push_back(bench.submit(request(20, 80, i)));
  bench.script->release();
  std::uint32_t preemptions = 0;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const Answer answer = read(*streams[i]);
    EXPECT_EQ(answer, Bench().ask(request(20, 80, i))) << i;
    preemptions += answer.finish.timings.preemptions;
  }
  const EngineStats s = bench.settled();
  EXPECT_EQ(s.memory_preemptions, preemptions);
  EXPECT_EQ(s.finished, 6U);
}

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
  EXPECT_EQ(s.pages_held, 0U);
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
  small.facts.kv_pages = 4;
  Bench bench({}, small);
  EXPECT_EQ(bench.engine->context(), 64U);
  EXPECT_EQ(bench.ask(request(60, 0)).tokens.size(), 4U);
  EngineOptions shorter;
  shorter.context = 100;
  Bench optional(shorter);
  EXPECT_EQ(optional.engine->context(), 100U);
}

TEST(Engine, DrainingFinishesWhatWasAcceptedAndRefusesTheRest) {
  Bench bench;
  auto a = bench.submit(request(5, 50));
  auto b = bench.submit(request(5, 50));
  EXPECT_TRUE(bench.engine->drain(1h));
  EXPECT_EQ(bench.refusal(request(5, 5)).code, Code::kUnavailable);
  EXPECT_EQ(read(*a).finish.reason, FinishReason::kLength);
  EXPECT_EQ(read(*b).finish.reason, FinishReason::kLength);
}

TEST(Engine, DrainingWithoutGraceCancelsWhatIsLeft) {
  Bench bench;
  bench.script->hold();
  auto a = bench.submit(request(5, 50));
  auto b = bench.submit(request(5, 50));
  bench.script->await(1);
  std::thread drainer([&] { EXPECT_FALSE(bench.engine->drain(0ms)); });
  while (!bench.engine->stats().draining) std::this_thread::yield();
  bench.script->release();
  drainer.join();
  const EngineStats s = bench.engine->stats();
  EXPECT_EQ(s.cancelled, 2U);
  (void)read(*a);
  (void)read(*b);
}

TEST(Engine, GoingDownTellsEveryReader) {
  auto bench = std::make_unique<Bench>();
  bench->script->hold();
  auto a = bench->submit(request(5, 50));
  auto b = bench->submit(request(5, 50));
  bench->script->await(1);
  bench->script->release();
  bench.reset();
  const auto reason = read(*a).finish.reason;
  EXPECT_TRUE(reason == FinishReason::kCancelled || reason == FinishReason::kLength);
  (void)read(*b);
}

TEST(Engine, TheReaderIsToldAtMostOnceAStep) {
  Bench bench;
  std::atomic<int> calls{0};
  Request r = request(5, 20);
  r.on_ready = [&calls] { ++calls; };
  EXPECT_EQ(bench.ask(r).tokens.size(), 20U);
  (void)bench.settled();
  bench.engine.reset();
  EXPECT_LE(calls, 20);
  EXPECT_GE(calls, 1);
}

/// Several clients submit, read, cancel and leave at random while another reads the books.
TEST(Engine, TheBooksBalanceThroughAnyStorm) {
  constexpr std::uint64_t kSeed = 4711;
  SCOPED_TRACE(kSeed);
  EngineOptions options = chunks_of(16);
  options.schedule.max_running = 3;
  options.schedule.max_queued_requests = 8;
  Bench bench(options);
  std::atomic<bool> over{false};
  std::thread auditor([&] {
    while (!over) {
      const EngineStats s = bench.engine->stats();
      ASSERT_EQ(s.accepted, s.finished + s.cancelled + s.failed + s.running + s.waiting);
      ASSERT_EQ(s.answer_tokens, s.delivered_tokens + s.wasted_tokens);
      ASSERT_LE(s.waiting, 8U);
      std::this_thread::yield();
    }
  });
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> whole_tokens{0};
  std::vector<std::thread> clients;
  for (std::uint64_t c = 0; c < 4; ++c) {
    clients.emplace_back([&, c] {
      for (std::uint64_t i = 0; i < 150; ++i) {
        const auto r = philox(kSeed + c, i);
        auto stream = bench.engine->submit(request(1 + r[0] % 100, 1 + r[1] % 20, r[2]));
        if (!stream) {
          ++refused;
          ASSERT_EQ(stream.error().code, Code::kExhausted);
          continue;
        }
        ++accepted;
        switch (r[3] % 4) {
          case 0:
            (*stream)->cancel();
            break;
          case 1: {
            std::vector<TokenEvent> events;
            (*stream)->wait(1h);
            (void)(*stream)->take(events);
            (*stream)->cancel();
            break;
          }
          default: {
            const Answer answer = read(**stream);
            ASSERT_EQ(answer.finish.reason, FinishReason::kLength);
            whole_tokens += answer.tokens.size();
          }
        }
      }
    });
  }
  for (std::thread& t : clients) t.join();
  const EngineStats s = bench.settled();
  over = true;
  auditor.join();
  EXPECT_EQ(s.accepted, accepted);
  EXPECT_EQ(s.refused, refused);
  EXPECT_EQ(s.failed, 0U);
  EXPECT_GE(s.delivered_tokens, whole_tokens);
  EXPECT_EQ(s.pages_held, 0U);
}

}  // namespace
}  // namespace weir::engine
