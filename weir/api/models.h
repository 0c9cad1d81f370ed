#pragma once

/// GET /v1/models and /v1/models/{id}.
/// Thread safety: pure functions.

#include <cstdint>
#include <span>
#include <string>

namespace weir::api {

struct ModelCard {
  std::string id;
  std::int64_t created = 0;         ///< Unix seconds: when it was loaded.
  std::uint32_t max_model_len = 0;  ///< Tokens of prompt and answer together, as vLLM names it.
};

[[nodiscard]] std::string encode_model(const ModelCard& card);
[[nodiscard]] std::string encode_models(std::span<const ModelCard> cards);

}  // namespace weir::api
