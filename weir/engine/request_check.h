#pragma once

/// Everything a request can get wrong, before it is accepted.
/// Thread safety: pure functions.

#include "weir/engine/engine.h"

namespace weir::engine {

/// Fills in max_tokens when it is 0; otherwise changes nothing. kInvalidArgument names the field;
/// kContextLength carries the numbers, worded as OpenAI words it.
[[nodiscard]] Status check_request(Request& request, const DecoderFacts& facts,
                                   std::uint32_t context, const RequestCaps& caps = {});

}  // namespace weir::engine
