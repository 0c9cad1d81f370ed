#pragma once

/// The figures of a run, from its records. Latencies are those of completed requests, from when the
/// workload wanted each sent; what failed is told by the completion and the attainment, so that a
/// server cannot look fast by refusing. Thread safety: pure functions.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weir/measure/plan.h"
#include "weir/measure/record.h"
#include "weir/measure/slo.h"
#include "weir/measure/summary.h"

namespace weir::measure {

struct Figures {
  std::string name;           ///< Of the tenant, or "all".
  double duration_s = 0;      ///< From the start to the last end.
  std::uint64_t offered = 0;  ///< All but those the plan took away or that were never sent.
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  ///< offered - completed.
  std::uint64_t left = 0;    ///< Hung up by plan.
  std::uint64_t unsent = 0;
  std::uint64_t input_tokens = 0;  ///< Of completed requests, as are the next two.
  std::uint64_t output_tokens = 0;
  std::uint64_t cached_tokens = 0;  ///< Of the input, where the server tells.
  bool usage_told = false;          ///< By the server, for every completed request.
  double request_throughput = 0;    ///< Per second, as are the next four.
  double request_goodput = 0;
  double output_throughput = 0;
  double total_token_throughput = 0;
  double peak_output_throughput = 0;  ///< The best whole second.
  std::uint64_t good = 0;             ///< Met the objective; all completed when there is none.
  double attainment = 0;              ///< good / offered.
  double completion = 0;              ///< completed / offered.
  std::uint32_t most_concurrent = 0;
  Summary ttft;  ///< Milliseconds, as are all below.
  Summary tpot;
  Summary itl;  ///< Every gap of every answer.
  Summary e2el;
  Summary stall;  ///< The longest gap of each answer; its `most` is the run's.
  Summary lag;    ///< From wanted to begun: what this client itself, or its limits, held back.
  std::vector<std::pair<std::string, std::uint64_t>> errors;  ///< By kind, most frequent first.
};

[[nodiscard]] Figures figures(std::span<const RequestRecord> records, const Slo& slo,
                              double duration_s);

/// The same for each tenant; nothing when there is only one.
[[nodiscard]] std::vector<Figures> figures_by_tenant(std::span<const RequestRecord> records,
                                                     std::span<const Tenant> tenants,
                                                     const Slo& slo, double duration_s);

}  // namespace weir::measure
