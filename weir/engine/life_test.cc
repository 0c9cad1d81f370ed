// The engine as a whole: draining, going down, waking readers, and books that balance.

#include <gtest/gtest.h>

#include <thread>

#include "weir/engine/test_bench.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

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
  EXPECT_EQ(s.units_held, 0U);
}

}  // namespace
}  // namespace weir::engine
