#include "weir/engine/step_timing.h"

#include <algorithm>
#include <vector>

#include "weir/base/math.h"

namespace weir::engine {
namespace {

/// Enough rows that arithmetic bounds the step and few enough that start-up does not wait for it.
constexpr std::uint32_t kManyRows = 64;
constexpr int kRounds = 3;

}  // namespace

policy::StepCost measure_step_cost(Decoder& decoder, const sys::Clock& clock) {
  const DecoderFacts& facts = decoder.facts();
  const std::uint32_t many = std::min({kManyRows, facts.max_rows, facts.context,
                                       facts.kv_units / facts.kv.of_page() * kPageTokens});
  std::vector<PageId> pages;
  for (std::uint32_t i = 0; i < ceil_div(many, kPageTokens); ++i) pages.push_back(PageId{i});
  const std::vector<TokenId> tokens(many, 0);
  const auto fastest = [&](std::uint32_t rows) {
    auto best = Duration::max();
    for (int i = 0; i < kRounds; ++i) {
      const model::SequenceRows step{std::span(tokens).first(rows), 0, pages, 1};
      const auto begin = clock.now();
      (void)decoder.forward({std::span(&step, 1)});
      best = std::min<Duration>(best, clock.now() - begin);
    }
    return std::max(seconds(best), 1e-9);
  };
  policy::MachineRates rates;
  rates.overhead_seconds = 0;  // Part of both measurements.
  rates.bytes_per_second = facts.cost.weight_bytes / fastest(1);
  rates.ops_per_second = many * facts.cost.ops_per_row / fastest(many);
  return {facts.cost, rates};
}

}  // namespace weir::engine
