#pragma once

/// Text to tokens and back. One implementation for each TokenizerKind behind one interface.
///
/// Special tokens (TokenKind::kControl) are recognised only inside trusted spans: a chat template's
/// own text is trusted, what a user wrote is not, so "<|im_end|>" typed by a user is seven ordinary
/// tokens. Input may be any bytes; invalid UTF-8 is encoded byte by byte where the vocabulary can,
/// as the reference tokenizers encode U+FFFD otherwise.
/// Thread safety: immutable after create(); const functions may be called from any thread.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/text/vocabulary.h"

namespace weir::text {

/// A piece of a rendered prompt and where it came from.
struct Span {
  std::string text;
  bool trusted = false;  ///< Written by the template (or the operator), not by the user.
};

struct EncodeOptions {
  bool add_special = true;  ///< Add bos/eos (BERT: [CLS] .. [SEP]) where the vocabulary says so.
};

class Tokenizer {
 public:
  /// Checks the vocabulary whole: ids, merges, patterns, and that every byte can be encoded.
  [[nodiscard]] static Result<std::unique_ptr<Tokenizer>> create(Vocabulary vocabulary);
  virtual ~Tokenizer() = default;

  /// The spans are one text: merges cross their borders, special tokens do not.
  [[nodiscard]] virtual std::vector<TokenId> encode(std::span<const Span> spans,
                                                    EncodeOptions options) const = 0;
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text, bool trusted = false,
                                            EncodeOptions options = {}) const;

  /// The bytes a token adds to the text; empty for control tokens. May be part of a character.
  /// REQUIRES: 0 <= token < size(). The view lives as long as the tokenizer.
  [[nodiscard]] virtual std::string_view bytes(TokenId token) const = 0;

  /// The whole sequence as the reference decodes it without special tokens (SentencePiece drops the
  /// dummy prefix's space, WordPiece joins words). May hold invalid UTF-8 if the tokens do.
  [[nodiscard]] virtual std::string decode(std::span<const TokenId> tokens) const = 0;

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  [[nodiscard]] std::int32_t size() const {
    return static_cast<std::int32_t>(vocabulary_.tokens.size());
  }
  [[nodiscard]] bool is_control(TokenId token) const;
  [[nodiscard]] bool ends_generation(TokenId token) const;
  [[nodiscard]] std::optional<TokenId> find(
      std::string_view token_text) const;  ///< Exact stored text.

 protected:
  explicit Tokenizer(Vocabulary vocabulary);
  Vocabulary vocabulary_;
};

}  // namespace weir::text
