#pragma once

/// Runs a resolved template over the variables of one render. Its recursion is bounded, its work is
/// charged to the heap's budget.
/// Thread safety: none; one object per render.

#include <cstdint>
#include <string_view>

#include "weir/base/result.h"
#include "weir/jinja/scope.h"
#include "weir/jinja/value.h"

namespace weir::jinja {

struct Run {
  std::string_view source;  ///< Normalised, for positions in errors.
  const Program& program;
  const DictObject& variables;
  std::int64_t unix_seconds = 0;
  std::size_t max_output_bytes = 0;
};

[[nodiscard]] Result<Text> interpret(Heap& heap, const Run& run);

}  // namespace weir::jinja
