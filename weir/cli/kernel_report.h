#pragma once

/// Measured kernels for people, as a table and in words, and for programs, as JSON. Thread safety:
/// pure functions.

#include <boost/json/fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "weir/cli/kernel_bench.h"
#include "weir/plan/answer.h"
#include "weir/sys/cpu_load.h"

namespace weir::cli {

[[nodiscard]] plan::Table kernel_table(std::span<const MeasuredKernel> kernels);
[[nodiscard]] boost::json::object kernel_json(const MeasuredKernel& kernel);

/// What the columns "clean" and "best of best" say.
[[nodiscard]] std::string clean_note();
/// What else kept the cores busy, with advice when it was much; nothing is known without `load`.
[[nodiscard]] std::string load_note(const std::optional<sys::CpuLoad>& load);
[[nodiscard]] boost::json::value load_json(const std::optional<sys::CpuLoad>& load);

/// {"best": ..., "median": ..., "p10": ..., "samples": ...}, divided by `unit`.
[[nodiscard]] boost::json::object spread_json(const measure::Spread& spread, double unit = 1);

}  // namespace weir::cli
