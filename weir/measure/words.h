#pragma once

/// Text of a wanted length: common English words, each one token with its space in nearly every
/// byte-pair vocabulary, drawn by a seed. How many tokens a word really costs with the server's
/// tokenizer, and what its chat template adds, is measured through usage (TextScale) before a run.
/// Thread safety: pure functions.

#include <cstdint>
#include <span>
#include <string>

#include "weir/measure/plan.h"

namespace weir::measure {

/// prompt_tokens = overhead + tokens_per_word * words.
struct TextScale {
  double tokens_per_word = 1;
  double overhead = 0;
};

/// `words` words with a space before each. Equal seeds begin with equal words.
void append_words(std::string& out, std::uint64_t seed, std::uint32_t words);

/// The words of all parts, without the first space. `overhead` tokens are left out of the last
/// part.
[[nodiscard]] std::string prompt_text(std::span<const PromptPart> parts, const TextScale& scale);

/// Fits the scale to two probes: (words, prompt_tokens) pairs with words_a < words_b.
[[nodiscard]] TextScale fit_scale(std::uint32_t words_a, std::uint32_t tokens_a,
                                  std::uint32_t words_b, std::uint32_t tokens_b);

}  // namespace weir::measure
