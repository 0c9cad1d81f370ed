#pragma once

/// Where the time of one answer went, as answers (`timings` of a choice) and GET /v1/requests/{id}
/// tell it. Thread safety: values and pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::api {

struct Timings {
  double queue_ms = 0;    ///< From acceptance to admission.
  double prefill_ms = 0;  ///< From there to the first token.
  double decode_ms = 0;   ///< From the first token to the last.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t cached_tokens = 0;  ///< Of the prompt, not computed again.
  std::uint32_t completion_tokens = 0;
  std::uint32_t prefill_chunks = 0;
  std::uint32_t preemptions = 0;
  std::uint32_t recomputed_tokens = 0;  ///< After pre-emptions.
  std::string_view waited_for;          ///< Why it was not admitted at once; empty: it was.
};

/// {"queue_ms":..., ...}
void append_timings(std::string& out, const Timings& timings);

struct ChoiceAccount {
  std::string_view state;  ///< waiting, prefill, decode, preempted, stop, length, cancelled, error.
  Timings timings;
};

/// The body of GET /v1/requests/{id}.
[[nodiscard]] std::string encode_account(std::string_view id, std::int64_t created,
                                         const std::vector<ChoiceAccount>& choices);

}  // namespace weir::api
