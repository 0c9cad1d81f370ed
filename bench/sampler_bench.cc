// What choosing one token costs, by vocabulary (SmolLM2 49152, Qwen 151936, Gemma 262144) and by
// filter, on logits shaped like a model's: a few likely tokens over a wide normal tail (sd 2.5).
// Beside it the naive way, a full sort of (logit, id).

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>

#include "weir/base/random.h"
#include "weir/model/sampler.h"

namespace weir::model {
namespace {

std::vector<float> logits_of(std::size_t vocabulary) {
  std::vector<float> logits(vocabulary);
  for (std::size_t i = 0; i < vocabulary; ++i) {
    const double normal = std::sqrt(-2 * std::log(1 - uniform(1, 2 * i))) *
                          std::cos(6.283185307179586 * uniform(1, 2 * i + 1));
    logits[i] = static_cast<float>(2.5 * normal);
  }
  for (std::size_t i = 0; i < 12; ++i) {
    logits[philox(2, i)[0] % vocabulary] = 19.0F - static_cast<float>(i) * 0.8F;
  }
  return logits;
}

/// As the forward pass leaves them.
std::vector<float> peaks_of(std::span<const float> logits) {
  std::vector<float> peaks(peak_blocks(logits.size()));
  find_peaks(logits, peaks);
  return peaks;
}

void run(benchmark::State& state, const SamplingParams& params) {
  const auto vocabulary = static_cast<std::int32_t>(state.range(0));
  const auto logits = logits_of(static_cast<std::size_t>(vocabulary));
  SamplerWorkspace workspace(vocabulary);
  Sampler sampler(params, 1, vocabulary, 64);
  for (TokenId t = 0; t < 32; ++t) sampler.saw_answer(t * 37);
  std::uint64_t position = 0;
  const auto peaks = peaks_of(logits);
  for (auto _ : state)
    benchmark::DoNotOptimize(sampler.sample({logits, peaks}, position++, workspace));
}

void top_logprobs(benchmark::State& state) {
  const auto logits = logits_of(static_cast<std::size_t>(state.range(0)));
  SamplerWorkspace workspace(static_cast<std::int32_t>(state.range(0)));
  const auto peaks = peaks_of(logits);
  for (auto _ : state) benchmark::DoNotOptimize(logprobs({logits, peaks}, 5, 20, workspace));
}

void full_sort(benchmark::State& state) {
  const auto logits = logits_of(static_cast<std::size_t>(state.range(0)));
  std::vector<std::pair<float, TokenId>> all(logits.size());
  for (auto _ : state) {
    for (std::size_t i = 0; i < logits.size(); ++i) all[i] = {-logits[i], static_cast<TokenId>(i)};
    std::sort(all.begin(), all.end());
    benchmark::DoNotOptimize(all.data());
  }
}

void with(const char* name, const SamplingParams& params) {
  benchmark::RegisterBenchmark(name, run, params)
      ->Arg(49152)
      ->Arg(151936)
      ->Arg(262144)
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace weir::model

int main(int argc, char** argv) {
  using weir::SamplingParams;
  const auto params = [](auto change) {
    SamplingParams p;
    change(p);
    return p;
  };
  weir::model::with("greedy", params([](auto& p) { p.temperature = 0; }));
  weir::model::with("temperature", params([](auto& p) { p.temperature = 0.8F; }));
  weir::model::with("top_k 40", params([](auto& p) { p.top_k = 40; }));
  weir::model::with("top_p 0.95", params([](auto& p) { p.top_p = 0.95F; }));
  weir::model::with("top_p 0.95, temperature 2 (flat)", params([](auto& p) {
                      p.top_p = 0.95F;
                      p.temperature = 2;
                    }));
  weir::model::with("min_p 0.05", params([](auto& p) { p.min_p = 0.05F; }));
  weir::model::with("typical 0.9", params([](auto& p) { p.typical_p = 0.9F; }));
  weir::model::with("top_k 40, top_p 0.95, repetition 1.1", params([](auto& p) {
                      p.top_k = 40;
                      p.top_p = 0.95F;
                      p.repetition_penalty = 1.1F;
                    }));
  const auto by_vocabulary = [](const char* name, void (*f)(benchmark::State&)) {
    benchmark::RegisterBenchmark(name, f)->Arg(49152)->Arg(151936)->Arg(262144)->Unit(
        benchmark::kMicrosecond);
  };
  by_vocabulary("top 20 logprobs", weir::model::top_logprobs);
  by_vocabulary("naive: full sort", weir::model::full_sort);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
