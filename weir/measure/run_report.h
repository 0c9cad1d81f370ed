#pragma once

/// A run told to programs and to people. The JSON has the field names of `vllm bench serve` where
/// that tool has the figure (its times in arrays are seconds, those of summaries milliseconds), so
/// that scripts made for it read ours; what it lacks stands under "weir".
/// Thread safety: pure functions.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/measure/figures.h"

namespace weir::measure {

/// How the load was made, and what the client knows of itself.
struct RunFacts {
  std::string label;  ///< What comparisons call it.
  std::string date;   ///< ISO 8601.
  std::string url;
  std::string model;
  Endpoint endpoint = Endpoint::kChat;
  std::string workload;     ///< One line.
  double request_rate = 0;  ///< Offered, open loop; 0: closed loop.
  double burstiness = 1;
  std::uint32_t concurrency = 0;  ///< Users, closed loop; 0: open loop.
  std::uint64_t seed = 0;
  double client_cpu_s = 0;  ///< Of the client's thread, over the run.
  double wall_s = 0;
  double tokens_per_word = 1;  ///< As measured for the prompts' text.
  std::string stopped;         ///< Why the run ended before its plan; empty: it did not.
};

struct RunReport {
  RunFacts facts;
  Slo slo;
  Figures all;
  std::vector<Figures> tenants;
  std::vector<RequestRecord> records;
};

[[nodiscard]] std::string json_report(const RunReport& report, bool with_requests);

/// A table for a terminal, at most 100 columns.
[[nodiscard]] std::string table_report(const RunReport& report);

/// One line a run: what a sweep over rates or users shows.
[[nodiscard]] std::string sweep_table(std::span<const RunReport> reports);

}  // namespace weir::measure
