#pragma once

/// Runs as one self-contained page: the table of the sweep, latency distributions, what happened
/// over time, and attainment over offered rate. No script, nothing fetched.
/// Thread safety: pure functions.

#include <span>
#include <string>

#include "weir/measure/run_report.h"

namespace weir::measure {

/// Records are needed for all but the table. REQUIRES: at least one run.
[[nodiscard]] std::string html_report(std::span<const RunReport> runs);

}  // namespace weir::measure
