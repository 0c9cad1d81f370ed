#pragma once

/// Runs set side by side, with how sure one can be. Files with the same label are repetitions. With
/// three or more of each the run is the unit: a figure is the mean of the runs' figures with
/// Student's interval, a ratio that of the logarithms with Welch's. With fewer, latencies get a
/// bootstrap over requests (Efron 1979; 1000 resamples, percentile interval), which leaves out what
/// varies from run to run and says so; rates get no interval. All intervals are of 95 %.
/// Thread safety: pure functions.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir::measure {

/// What a comparison reads of a run's JSON.
struct ComparedRun {
  std::string label;
  std::string load;  ///< "8 users" or "2 requests/s": only runs of one load compare.
  double request_throughput = 0;
  double output_throughput = 0;
  double goodput = 0;
  double attainment = 0;
  std::vector<double> ttft_ms;
  std::vector<double> tpot_ms;
  std::vector<double> itl_ms;
  std::vector<double> e2el_ms;
};

/// Reads one JSON object as json_report() or `vllm bench serve --save-detailed` write it; latencies
/// stay empty where requests were left out. kCorrupt otherwise.
[[nodiscard]] Result<ComparedRun> read_run(std::string_view json, std::string_view default_label);

struct Estimate {
  double value = 0;
  std::optional<double> low;  ///< With `high`, the interval; neither when there is none.
  std::optional<double> high;
};

struct ComparedFigure {
  std::string name;
  bool more_is_better = false;
  std::vector<Estimate> of_label;        ///< In the order of Comparison::labels.
  std::vector<Estimate> ratio_to_first;  ///< The same; the first is 1.
};

struct Comparison {
  std::vector<std::string> labels;  ///< In order of first appearance.
  std::vector<std::size_t> runs;    ///< Of each label.
  bool by_run = false;              ///< The unit is the run; else requests were resampled.
  std::vector<ComparedFigure> figures;
};

/// REQUIRES: at least one run, all of one load.
[[nodiscard]] Comparison compare(std::span<const ComparedRun> runs);

[[nodiscard]] std::string comparison_table(const Comparison& comparison);
/// The same as a Markdown table.
[[nodiscard]] std::string comparison_markdown(const Comparison& comparison);

}  // namespace weir::measure
