#pragma once

/// Tokens to text as they come, O(1) a token: bytes that do not yet make a character are held back,
/// never re-decoded and never shown broken. A byte sequence that can no longer become a character
/// comes out as U+FFFD. What all push() and the final finish() return, joined, is
/// utf8::sanitize(tokenizer.decode(all tokens)); with after_text, of the same bytes with the first
/// token written as in the middle of a text.
/// Thread safety: none; one object per stream. The tokenizer must outlive it.

#include <string>

#include "weir/text/tokenizer.h"

namespace weir::text {

class Detokenizer {
 public:
  /// `after_text`: the tokens continue earlier text (an answer after a prompt), so SentencePiece's
  /// leading space is kept.
  explicit Detokenizer(const Tokenizer& tokenizer, bool after_text = true);

  /// The characters this token completed; may be empty. Always valid UTF-8.
  [[nodiscard]] std::string push(TokenId token);

  /// What is still held, made valid. Call once, at the end.
  [[nodiscard]] std::string finish();

 private:
  const Tokenizer& tokenizer_;
  std::string held_;  ///< At most 3 bytes between calls.
  bool at_start_;
};

}  // namespace weir::text
