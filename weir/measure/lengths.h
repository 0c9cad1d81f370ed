#pragma once

/// Lengths in tokens: one number, a distribution, or lengths that were recorded. Written as text:
///   128                    always 128
///   uniform:64,256         evenly between
///   normal:256,64          mean and deviation
///   lognormal:256,0.8      median, and deviation of the logarithm
/// Thread safety: values and pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/measure/random_draw.h"

namespace weir::measure {

/// The longest prompt or answer that is planned.
inline constexpr std::uint32_t kMaxLength = 1U << 20;

struct LengthSpec {
  enum class Kind : std::uint8_t { kFixed, kUniform, kNormal, kLogNormal };
  Kind kind = Kind::kFixed;
  double a = 128;
  double b = 0;
};

/// kInvalidArgument says what was expected. `subject` names the option.
[[nodiscard]] Result<LengthSpec> parse_length(std::string_view text, std::string_view subject);

/// In [1, kMaxLength], for the request `index`.
[[nodiscard]] std::uint32_t draw_length(const LengthSpec& spec, std::uint64_t seed, Stream stream,
                                        std::uint64_t index);

}  // namespace weir::measure
