// What deciding a step costs: plan() and step_done() together, by how many wait behind 64 running
// answers of about a thousand tokens. Every waiting request is of another tenant out of eight.

#include <benchmark/benchmark.h>

#include <vector>

#include "weir/base/random.h"
#include "weir/sched/scheduler.h"

namespace weir::sched {
namespace {

constexpr std::uint32_t kRunning = 64;

Request request(std::uint64_t id, std::uint32_t tokens, std::uint32_t max_tokens) {
  Request r;
  r.id = SequenceId{id};
  r.tenant = policy::TenantId{static_cast<std::uint32_t>(id % 8)};
  for (std::uint32_t i = 0; i < tokens; ++i)
    r.prompt.push_back(static_cast<TokenId>(philox(id, i)[0] % 50'000));
  r.max_tokens = max_tokens;
  return r;
}

void step(Scheduler& scheduler, std::vector<RowResult>& results) {
  results.clear();
  for (const StepRow& row : scheduler.plan({}).rows)
    if (row.wants_logits) results.push_back({row.id, static_cast<TokenId>(row.first), {}});
  scheduler.step_done(results, std::chrono::milliseconds(20));
}

void decide(benchmark::State& state) {
  Options o;
  o.ledger.units = 1'000'000;
  o.max_running = kRunning;
  o.max_queued_requests = 10'000;
  Scheduler scheduler(o, policy::StepCost({1e8, 2e8, 1e4}, {}));
  std::vector<RowResult> results;
  std::uint64_t id = 0;
  for (; id < kRunning; ++id) (void)scheduler.arrived(request(id, 1000, 200'000), {});
  do {
    step(scheduler, results);
  } while (results.size() < kRunning);
  for (std::int64_t i = 0; i < state.range(0); ++i)
    (void)scheduler.arrived(request(id++, 500, 200), {});
  for (auto _ : state) step(scheduler, results);
}

BENCHMARK(decide)
    ->Arg(0)
    ->Arg(16)
    ->Arg(256)
    ->Arg(2048)
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(5000);

}  // namespace
}  // namespace weir::sched

BENCHMARK_MAIN();
