#pragma once

/// What a hub repository holds, and which of its files make the model a person meant. JSON and
/// names come from a peer: bounded, checked, and never trusted to be paths. Thread safety: pure
/// functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir::hub {

struct Listing {
  std::string commit;  ///< 40 hex digits.
  std::vector<std::string> files;
};

/// The answer of /api/models/{repo}/revision/{revision}. Hostile names stay in the list: choose()
/// takes only what it knows, and checks it. kCorrupt when it is not such an answer.
[[nodiscard]] Result<Listing> parse_listing(std::string_view json);

struct Choice {
  std::vector<std::string> files;  ///< All to fetch; never empty.
  std::string main;                ///< The one that is the model, or "" when the folder is.
};

/// `wanted` is HubReference::file: empty, a quantisation, or one file's path.
/// Empty: the GGUF file, of several the one that gives the most for its size (Q4_K_M first); else
/// the safetensors weights with their config and tokenizer files.
/// kNotFound names what there is instead; kCorrupt for a name that is no safe path.
[[nodiscard]] Result<Choice> choose(const std::vector<std::string>& files,
                                    const std::string& wanted);

}  // namespace weir::hub
