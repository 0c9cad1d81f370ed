#pragma once

/// The fields that chat and completions share.
/// Thread safety: pure.

#include "weir/api/internal/fields.h"
#include "weir/api/request.h"

namespace weir::api {

/// Everything of AnswerOptions but logprobs, whose form differs between the endpoints.
[[nodiscard]] Result<AnswerOptions> decode_options(const Fields& fields,
                                                   const DecodeContext& context);

/// A list of token ids of the vocabulary, at most `max_size` of them.
[[nodiscard]] Result<std::vector<TokenId>> decode_tokens(const json::array& array,
                                                         const std::string& name,
                                                         const DecodeContext& context,
                                                         std::size_t max_size);

}  // namespace weir::api
