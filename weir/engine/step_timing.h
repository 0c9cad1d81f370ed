#pragma once

/// Fits the step-time model to the running machine: one decode step gives the rate at which weights
/// are read, one prefill step the rate at which rows are computed. The scheduler corrects both with
/// every step that runs. Thread safety: the thread that owns the decoder, before the first request.

#include "weir/engine/decoder.h"
#include "weir/policy/step_cost.h"
#include "weir/sys/clock.h"

namespace weir::engine {

/// Runs a few steps over the first pages of the arena, whose content is then undefined. Takes the
/// fastest of each kind: whatever disturbs a step makes it slower.
[[nodiscard]] policy::StepCost measure_step_cost(Decoder& decoder, const sys::Clock& clock);

}  // namespace weir::engine
