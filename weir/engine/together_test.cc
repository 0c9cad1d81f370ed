// Requests that run together: shared prefixes, shared prompts, memory that runs out.

#include <gtest/gtest.h>

#include "weir/engine/test_bench.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

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
  small.facts.kv_units = 16;  // One context's worth for six answers of 100 positions each.
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

TEST(Engine, WindowsLeaveRoomForMoreAndNobodyNotices) {
  ScriptOptions small;
  small.facts.kv = {.layers = 3, .whole = 1, .windowed = 5, .window = 32};
  // As much memory as 16 pages, which is room for one answer at a time without windows.
  small.facts.kv_units = 6 * 16;
  const auto answers = [&](const ScriptOptions& script) {
    Bench bench({}, script);
    bench.script->hold();
    std::vector<std::shared_ptr<TokenStream>> streams;
    for (std::uint64_t i = 0; i < 4; ++i) streams.push_back(bench.submit(request(20, 200, i)));
    bench.script->release();
    for (std::uint64_t i = 0; i < 4; ++i)
      EXPECT_EQ(read(*streams[i]), Bench().ask(request(20, 200, i))) << i;
    return bench.settled();
  };
  const EngineStats windows = answers(small);
  EXPECT_EQ(windows.units_held, 0U);
  EXPECT_GT(windows.evicted_windows, 0U);
  small.facts.kv = {};
  small.facts.kv_units = 16;
  const EngineStats whole = answers(small);
  EXPECT_LT(windows.steps, whole.steps * 2 / 3);
}

}  // namespace
}  // namespace weir::engine
