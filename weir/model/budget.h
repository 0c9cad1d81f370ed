#pragma once

/// Whether a model fits, said with the arithmetic, before anything is allocated (promise 4).
/// Thread safety: pure functions; how much memory there is comes in as a parameter.

#include <cstdint>
#include <string>

#include "weir/base/result.h"
#include "weir/model/model.h"

namespace weir::model {

/// One line a part, aligned, with the total: what `weir inspect` and a loading server show.
[[nodiscard]] std::string describe(const BytePlan& plan);

/// The largest number of KV units for which the plan fits into `available` bytes; 0 when even the
/// model does not.
[[nodiscard]] std::uint64_t kv_units_that_fit(const BytePlan& plan, std::uint64_t available);

/// Code::kExhausted with the sum spelled out, and what to lower, when the total exceeds
/// `available`.
[[nodiscard]] Status check_budget(const BytePlan& plan, std::uint64_t available);

}  // namespace weir::model
