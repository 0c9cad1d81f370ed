#pragma once

/// Text to tokens and back. One implementation for each TokenizerKind behind one interface.
///
/// Special tokens (TokenKind::kControl) are recognised only inside trusted spans: a chat template's
/// own text is trusted, what a user wrote is not, so "<|im_end|>" typed by a user is ordinary
/// tokens and no piece of text can become a control token by any other way.
///
/// Input may be any bytes. Where the vocabulary can write single bytes (byte-level BPE, byte
/// fallback), each run of bytes that is not UTF-8 is encoded byte by byte and the text on either
/// side as if it ended there; elsewhere such a run is U+FFFD first, one for each maximal bad part.
/// Cost: O(n log n) in the text for every vocabulary, whatever the text.
/// Thread safety: immutable after create(); const functions may be called from any thread.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/text/token_index.h"
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
  static constexpr std::size_t kMaxTokens = 1 << 22;
  static constexpr std::size_t kMaxMerges = 1 << 23;
  static constexpr std::size_t kMaxTokenBytes = 4096;

  /// Checks the vocabulary whole: ids, merges, patterns, lengths.
  [[nodiscard]] static Result<std::unique_ptr<Tokenizer>> create(Vocabulary vocabulary);
  virtual ~Tokenizer() = default;

  /// The spans are one text: merges cross their borders, special tokens do not.
  [[nodiscard]] virtual std::vector<TokenId> encode(std::span<const Span> spans,
                                                    EncodeOptions options) const = 0;
  [[nodiscard]] std::vector<TokenId> encode(std::string_view text, bool trusted = false,
                                            EncodeOptions options = {}) const;

  /// The bytes a token adds to a text before it; empty for control tokens. May be part of a
  /// character. REQUIRES: 0 <= token < size(). The view lives as long as the tokenizer.
  [[nodiscard]] virtual std::string_view bytes(TokenId token) const = 0;

  /// The same for the first shown token of a text (SentencePiece drops the dummy prefix's space,
  /// WordPiece the space between words).
  [[nodiscard]] virtual std::string_view first_bytes(TokenId token) const { return bytes(token); }

  /// The whole sequence as the reference decodes it without special tokens: first_bytes() of the
  /// first shown token, then bytes(). May hold invalid UTF-8 if the tokens do. Ids outside the
  /// vocabulary add nothing.
  [[nodiscard]] virtual std::string decode(std::span<const TokenId> tokens) const = 0;

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  [[nodiscard]] std::int32_t size() const {
    return static_cast<std::int32_t>(vocabulary_.tokens.size());
  }
  [[nodiscard]] bool is_control(TokenId token) const;
  /// Whether decode() shows the token: not the control and unknown ones.
  [[nodiscard]] bool is_shown(TokenId token) const;
  [[nodiscard]] bool ends_generation(TokenId token) const;
  [[nodiscard]] std::optional<TokenId> find(
      std::string_view token_text) const;  ///< Exact stored text.

 protected:
  explicit Tokenizer(Vocabulary vocabulary);
  Vocabulary vocabulary_;

 private:
  TokenIndex index_;
};

}  // namespace weir::text
