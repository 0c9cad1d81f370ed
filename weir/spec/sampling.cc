#include "weir/spec/sampling.h"

#include <fmt/format.h>

#include <cmath>

namespace weir {
namespace {

Status in_range(const char* name, double value, double low, double high, bool open_low = false) {
  const bool inside = (open_low ? value > low : value >= low) && value <= high;
  if (inside) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("{} must be {} {} and at most {}, but it is {}", name,
                          open_low ? "above" : "at least", low, high, value),
              name);
}

}  // namespace

Status validate(const SamplingParams& p, std::int32_t vocabulary) {
  WEIR_TRY_STATUS(in_range("temperature", p.temperature, 0, 100));
  WEIR_TRY_STATUS(in_range("top_k", p.top_k, -1, 2147483647));
  WEIR_TRY_STATUS(in_range("top_p", p.top_p, 0, 1, true));
  WEIR_TRY_STATUS(in_range("min_p", p.min_p, 0, 1));
  WEIR_TRY_STATUS(in_range("typical_p", p.typical_p, 0, 1, true));
  WEIR_TRY_STATUS(in_range("repetition_penalty", p.repetition_penalty, 0, 10, true));
  WEIR_TRY_STATUS(in_range("presence_penalty", p.presence_penalty, -2, 2));
  WEIR_TRY_STATUS(in_range("frequency_penalty", p.frequency_penalty, -2, 2));
  if (p.logit_bias.size() > SamplingParams::kMaxLogitBias) {
    return fail(Code::kInvalidArgument,
                fmt::format("logit_bias may name at most {} tokens, but names {}",
                            SamplingParams::kMaxLogitBias, p.logit_bias.size()),
                "logit_bias");
  }
  for (const auto& [token, bias] : p.logit_bias) {
    if (token < 0 || token >= vocabulary) {
      return fail(Code::kInvalidArgument,
                  fmt::format("logit_bias names token {}, but this model's tokens are 0 to {}",
                              token, vocabulary - 1),
                  "logit_bias");
    }
    WEIR_TRY_STATUS(in_range("logit_bias", bias, -100, 100));
  }
  return {};
}

}  // namespace weir
