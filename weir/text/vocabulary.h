#pragma once

/// What a tokenizer is made of, as data: the one form that GGUF metadata (model/gguf_tokenizer.h)
/// and tokenizer.json (text/tokenizer_json.h) are both read into, and the only thing
/// Tokenizer::create looks at.
/// Thread safety: a value.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/ids.h"

namespace weir::text {

enum class TokenizerKind : std::uint8_t {
  kByteBpe,    ///< GPT-2 style: bytes as printable characters, merges by rank.
  kScoredBpe,  ///< SentencePiece BPE: merges by token score, byte fallback (Llama 2, Gemma).
  kUnigram,    ///< SentencePiece unigram: best path by score (T5, XLM-R).
  kWordPiece,  ///< BERT: longest match in words, "##" continuations.
};

enum class TokenKind : std::uint8_t {
  kNormal,
  kControl,      ///< Never matched in user text, never shown: <|im_start|>, <eos>.
  kUserDefined,  ///< Matched whole before anything else, in any text, and shown.
  kByte,         ///< "<0x0A>": one raw byte.
  kUnknown,
  kUnused,
};

struct VocabularyToken {
  std::string text;  ///< As stored in the file (byte-BPE: in the printable alphabet).
  float score = 0.0F;
  TokenKind kind = TokenKind::kNormal;
  bool strip_left =
      false;  ///< Swallow white space before / after the token (tokenizer.json lstrip, rstrip).
  bool strip_right = false;
};

struct Vocabulary {
  TokenizerKind kind = TokenizerKind::kByteBpe;
  std::vector<VocabularyToken> tokens;  ///< By id.
  std::vector<std::pair<std::string, std::string>>
      merges;  ///< By rank; byte BPE, or tokenizer.json BPE.

  /// Pre-tokenisation, byte BPE: PCRE2 patterns applied in order, each splitting what the one
  /// before left ("isolated": matches and the gaps between them are both kept as pieces).
  std::vector<std::string> split_patterns;

  std::string
      normalizer;  ///< "", "nfc", "nfkc" or "bert" (clean, CJK spaces, lower, strip accents).
  bool lowercase = false;          ///< For "bert".
  bool strip_accents = false;      ///< For "bert".
  bool add_space_prefix = false;   ///< SentencePiece's dummy prefix.
  bool escape_whitespace = false;  ///< " " becomes U+2581 before and is restored after.
  bool byte_fallback = false;
  bool ignore_merges = false;  ///< A piece that is a whole token needs no merging (Llama 3).

  std::optional<TokenId> bos, eos, unknown, pad, separator, classifier;
  bool add_bos = false;
  bool add_eos = false;
  std::vector<TokenId>
      end_of_generation;  ///< eos and end-of-turn tokens: an answer ends at any of them.
};

}  // namespace weir::text
