#pragma once

/// How the well-known families of byte-level BPE cut text, by the name GGUF files give them
/// (tokenizer.ggml.pre), and what else the name implies.
/// Sources: the tokenizer.json files of the models and llama.cpp's list of names; only names whose
/// model is known to cut exactly so are here.
/// Thread safety: pure functions.

#include <optional>
#include <string_view>
#include <vector>

#include "weir/text/vocabulary.h"

namespace weir::text {

struct PretokenizerFamily {
  std::vector<SplitStep> splits;
  bool nfc = false;  ///< The model's own tokenizer composes text first; GGUF does not say so.
  bool ignore_merges = false;
  bool add_bos = false;  ///< The default where the file does not say.
};

[[nodiscard]] std::optional<PretokenizerFamily> pretokenizer_family(std::string_view name);

inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace weir::text
