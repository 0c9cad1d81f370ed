#pragma once

/// How the next token is chosen, as a request states it. Every field has OpenAI's meaning where
/// OpenAI has the field; the others have vLLM's. Order of application: logit bias, penalties,
/// temperature, then top-k, typical, top-p, min-p on the tempered distribution.
/// Thread safety: a value.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/result.h"

namespace weir {

struct SamplingParams {
  float temperature = 1.0F;  ///< 0 is greedy. [0, 2] on the wire, [0, 100] elsewhere.
  std::int32_t top_k = 0;    ///< Keep the k most likely; 0 or -1 keeps all.
  float top_p = 1.0F;        ///< (0, 1]: smallest set whose probability reaches top_p.
  float min_p = 0.0F;        ///< [0, 1]: drop tokens below min_p times the most likely.
  float typical_p = 1.0F;    ///< (0, 1]: locally typical sampling (Meister et al. 2022); 1 is off.
  float repetition_penalty = 1.0F;  ///< (0, 10]: over prompt and answer (CTRL, Keskar et al. 2019).
  float presence_penalty = 0.0F;    ///< [-2, 2]: over the answer, once per distinct token.
  float frequency_penalty = 0.0F;   ///< [-2, 2]: over the answer, times the count.
  std::optional<std::uint64_t> seed;  ///< Absent: drawn when the request is accepted.
  std::vector<std::pair<TokenId, float>> logit_bias;  ///< [-100, 100]; at most kMaxLogitBias.

  static constexpr std::size_t kMaxLogitBias = 1024;
};

/// Names the first field out of its range, NaN included. `vocabulary` bounds the ids of logit_bias.
[[nodiscard]] Status validate(const SamplingParams& params, std::int32_t vocabulary);

}  // namespace weir
