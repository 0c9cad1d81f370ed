// What the engine adds around a model's steps: from submit() on an idle engine to its first token
// in the reader's hands (two wakes of a sleeping thread), and the cost of one more token when
// awake. The model is the scripted one over a tiny vocabulary, so nearly all that is measured is
// the engine's.

#include <benchmark/benchmark.h>

#include <thread>

#include "weir/engine/engine.h"
#include "weir/engine/scripted_decoder.h"

namespace weir::engine {
namespace {

Request request(std::uint32_t max_tokens) {
  Request r;
  r.prompt = {3};
  r.max_tokens = max_tokens;
  r.ignore_eos = true;
  r.sampling.temperature = 0;
  return r;
}

void read(TokenStream& stream) {
  std::vector<TokenEvent> events;
  do stream.wait(std::chrono::hours(1));
  while (!stream.take(events));
}

void first_token_from_idle(benchmark::State& state) {
  const sys::SystemClock clock;
  Engine engine(std::make_unique<ScriptedDecoder>(
                    ScriptOptions{.facts = {4, 256, 64, 16, 8, {1e6, 1e6, 100}}}, nullptr),
                {2}, clock, {});
  for (auto _ : state) {
    state.PauseTiming();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // Let the engine fall asleep.
    state.ResumeTiming();
    auto stream = engine.submit(request(1));
    read(**stream);
  }
}

void hundred_tokens(benchmark::State& state) {
  const sys::SystemClock clock;
  Engine engine(std::make_unique<ScriptedDecoder>(
                    ScriptOptions{.facts = {4, 256, 64, 16, 8, {1e6, 1e6, 100}}}, nullptr),
                {2}, clock, {});
  for (auto _ : state) read(**engine.submit(request(100)));
}

BENCHMARK(first_token_from_idle)->Unit(benchmark::kMicrosecond)->UseRealTime()->Iterations(300);
BENCHMARK(hundred_tokens)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace weir::engine

BENCHMARK_MAIN();
