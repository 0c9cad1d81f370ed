#pragma once

/// How a file says that positions rotate: base, scaling kind, factor lists.
/// Formulas: linear scaling (Chen et al. 2023, "Position Interpolation"); Llama 3.1's frequency
/// bands and LongRoPE (Ding et al. 2024) as Hugging Face transformers computes them
/// (modeling_rope_utils.py); GGUF carries the computed divisors as tensors instead.
/// Thread safety: pure functions.

#include "weir/base/result.h"
#include "weir/model/settings.h"
#include "weir/spec/model_shape.h"

namespace weir::model {

/// Fills shape.rope but for its layout. REQUIRES: head_dim and context are set.
/// A scaling kind that Weir does not know is Code::kUnsupported and named.
[[nodiscard]] Status read_rope(const Settings& settings, ModelShape& shape);

}  // namespace weir::model
