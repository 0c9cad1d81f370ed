#pragma once

/// What `serve` is told of classes and lengths on its command line, from text to data.
/// Thread safety: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/engine/engine.h"

namespace weir::cli {

/// {"critical=10%", "standard=20%"}. Each class once; 90 % together at most, so that background
/// work is never shut out.
[[nodiscard]] Result<policy::Reserve> parse_reserve(const std::vector<std::string>& texts);

/// "50=8,200=16,rest=32": of requests expected to be of up to 50 tokens, prompt and answer, 8 run
/// together, and so on. Lengths ascend; what is longer than the last named one has no bound unless
/// "rest" gives it one.
[[nodiscard]] Result<policy::LengthGroups> parse_length_caps(std::string_view text);

}  // namespace weir::cli
