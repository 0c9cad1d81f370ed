#pragma once

/// Hugging Face's tokenizer.json (and what its neighbours say about special tokens) as a
/// Vocabulary. Parts that would change tokens and that we do not have are Code::kUnsupported,
/// named; a broken file is Code::kCorrupt, with the place. Nesting, sizes and ids are bounded.
/// Thread safety: pure functions.

#include <string_view>

#include "weir/base/result.h"
#include "weir/text/vocabulary.h"

namespace weir::text {

inline constexpr std::size_t kMaxTokenizerJsonBytes = std::size_t{256}
                                                      << 20;  ///< Gemma's has 33 MB.

/// `config`: tokenizer_config.json, `generation`: generation_config.json; empty where there is
/// none.
[[nodiscard]] Result<Vocabulary> read_tokenizer_json(std::string_view json,
                                                     std::string_view config = {},
                                                     std::string_view generation = {});

}  // namespace weir::text
