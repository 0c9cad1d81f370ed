#pragma once

/// Real traffic for scheduler tests: excerpts of public traces (testdata/README.md), repeated with
/// seeded variations to any length, and a driver that carries no model, so that a hundred thousand
/// requests take seconds. Thread safety: values; one owner.

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/sched/scheduler.h"

namespace weir::sched {

struct Arrival {
  Instant at{};
  std::uint32_t prompt = 1;  ///< Tokens.
  std::uint32_t answer = 1;
  std::vector<std::uint64_t> blocks;  ///< Of the prompt; empty: shared with no other.
};

struct Excerpt {
  std::vector<Arrival> arrivals;
  std::uint32_t block_tokens = 512;
};

/// Reads testdata/<name>.csv.
[[nodiscard]] Result<Excerpt> read_excerpt(const std::string& name);

/// As for a machine an eighth as large: prompts, answers and blocks of an eighth of the tokens.
[[nodiscard]] Excerpt scaled_to_an_eighth(Excerpt excerpt);

/// `count` arrivals: the excerpt again and again, `rate` arrivals a second on average. Repetitions
/// keep the gaps' and the prefixes' shape but share no block save those that very many prompts
/// have (ids below `common`); lengths vary by a tenth where there are no blocks.
[[nodiscard]] std::vector<Arrival> repeat(const Excerpt& excerpt, std::size_t count, double rate,
                                          std::uint64_t common, std::uint64_t seed);

/// The tokens of an arrival's prompt; `number` tells those without blocks apart.
[[nodiscard]] std::vector<TokenId> tokens_of(const Arrival& arrival, std::uint32_t block_tokens,
                                             std::uint64_t number);

/// The prompt tokens that a cache without bounds would find, if every prompt was computed before
/// the next arrived.
[[nodiscard]] std::uint64_t ideal_hits(const std::vector<Arrival>& arrivals,
                                       std::uint32_t block_tokens);

/// One source of requests.
struct Stream {
  policy::TenantId tenant{};
  std::uint32_t block_tokens = 512;
  std::vector<Arrival> arrivals;
};

struct StreamReport {
  std::vector<Duration> first_tokens;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t hit_tokens = 0;  ///< At first admission; found again after a pre-emption apart.
  std::uint64_t answer_tokens = 0;
  std::uint64_t refused = 0;
};

struct TrafficReport {
  std::vector<StreamReport> streams;
  Instant end{};
  std::uint64_t steps = 0;
};

/// Serves all streams at once, each tenant with a cache namespace of its own. Calls check() every
/// `check_every` steps. REQUIRES: the streams' arrivals are sorted.
[[nodiscard]] TrafficReport serve(Scheduler& scheduler, const policy::StepCost& truth,
                                  const std::vector<Stream>& streams, std::uint64_t check_every);

}  // namespace weir::sched
