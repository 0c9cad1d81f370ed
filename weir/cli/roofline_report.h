#pragma once

/// A measured machine and model for people (an Answer with its arithmetic, tables and the picture),
/// for programs (JSON), and for the planner (YAML). Thread safety: pure functions.

#include <boost/json/fwd.hpp>
#include <string>

#include "weir/cli/roofline_run.h"
#include "weir/plan/answer.h"

namespace weir::cli {

[[nodiscard]] plan::Answer roofline_answer(const RooflineRun& run);
[[nodiscard]] boost::json::object roofline_json(const RooflineRun& run);

/// One CPU of the planner's registry, named `here`.
[[nodiscard]] std::string roofline_yaml(const MeasuredMachine& machine);

/// Rows at which a step of the model is as long computing as reading its weights.
struct Crossover {
  double formula = 0;   ///< From the machine's roofs.
  double beside = 0;    ///< From the roofs beside the kernels.
  double measured = 0;  ///< From the kernels; 0 when the largest batch was not measured.
};
[[nodiscard]] Crossover crossover_of(const MeasuredMachine& machine, const MeasuredModel& model);

}  // namespace weir::cli
