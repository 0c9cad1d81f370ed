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
  kCharBpe,    ///< tokenizer.json's BPE over characters, merges by rank (Llama 2, Gemma).
  kScoredBpe,  ///< SentencePiece BPE: merges by token score, byte fallback (Llama 2, Gemma in
               ///< GGUF).
  kUnigram,    ///< SentencePiece unigram: best path by score (T5, XLM-R).
  kWordPiece,  ///< BERT: longest match in words, "##" continuations.
};

enum class TokenKind : std::uint8_t {
  kNormal,
  kControl,      ///< Never matched in user text, never shown: <|im_start|>, <eos>.
  kUserDefined,  ///< Matched whole before anything else, in any text, and shown.
  kByte,         ///< "<0x0A>": one raw byte.
  kUnknown,      ///< Stands for what the vocabulary cannot write; never shown.
  kUnused,       ///< Merged through, never emitted (SentencePiece).
};

struct VocabularyToken {
  std::string text;  ///< As stored in the file (byte-BPE: in the printable alphabet).
  double score = 0.0;
  TokenKind kind = TokenKind::kNormal;
  bool strip_left = false;   ///< Swallow white space before the token (tokenizer.json lstrip).
  bool strip_right = false;  ///< The same after it (rstrip).
  bool single_word = false;  ///< Only between non-word characters.
  bool normalized = false;   ///< A kUserDefined token looked for after normalisation, not before.
};

/// One step of turning text into the text a model was trained on, applied in order to each stretch
/// of text between added tokens.
struct NormalizerStep {
  enum class Kind : std::uint8_t {
    kNfc,
    kNfd,
    kNfkc,
    kNfkd,
    kLowercase,
    kStripAccents,    ///< Drops every mark (category M).
    kBert,            ///< clean_text, chinese_spaces, strip_accents, lowercase, in this order.
    kPrepend,         ///< `content` before a stretch that is not empty (Llama's dummy prefix).
    kReplace,         ///< Each literal `pattern` becomes `content`.
    kReplacePattern,  ///< Each match of the regular expression becomes `content`.
    kStrip,           ///< White space at the ends: `left`, `right`.
    kNmt,             ///< SentencePiece's control-character rules.
    kSentencePiece,   ///< sentence_piece_rules.h: `pattern` holds its map's bytes, if it has one;
                      ///< `kept`, `collapse_spaces`, and `content` goes before.
  };
  Kind kind = Kind::kNfc;
  std::string pattern;
  std::string content;
  bool left = false;
  bool right = false;
  bool clean_text = false;
  bool chinese_spaces = false;
  bool strip_accents = false;
  bool lowercase = false;
  std::vector<std::string> kept;  ///< Texts that pass the map unchanged, of several the longest.
  bool collapse_spaces = false;   ///< SentencePiece's remove_extra_whitespaces.
};

/// One step of cutting normalised text into the pieces a model encodes one by one; each step cuts
/// what the one before left.
struct SplitStep {
  enum class Kind : std::uint8_t {
    kPattern,      ///< Cuts at the matches of a regular expression.
    kPrefixSpace,  ///< Puts a space before a piece that does not begin with one (ByteLevel).
    kMetaspace,    ///< " " becomes U+2581, one is put before as `prefix` says, cuts before each.
  };
  enum class Behavior : std::uint8_t {
    kIsolated,            ///< Matches and the gaps between them are all pieces.
    kRemoved,             ///< Only the gaps are.
    kMergedWithPrevious,  ///< A match belongs to the gap before it.
    kMergedWithNext,
    kContiguous,  ///< Adjacent matches are one piece.
  };
  enum class Prefix : std::uint8_t { kNever, kFirst, kAlways };
  Kind kind = Kind::kPattern;
  std::string pattern;  ///< In the reference's dialect; Pattern::compile translates.
  Behavior behavior = Behavior::kIsolated;
  bool invert = false;              ///< Matches and gaps change places.
  Prefix prefix = Prefix::kAlways;  ///< kMetaspace; kFirst: only at the start of the whole text.
  bool cut = true;                  ///< kMetaspace: whether it cuts at all.
};

struct Vocabulary {
  TokenizerKind kind = TokenizerKind::kByteBpe;
  std::vector<VocabularyToken> tokens;                      ///< By id.
  std::vector<std::pair<std::string, std::string>> merges;  ///< By rank; kByteBpe and kCharBpe.

  std::vector<NormalizerStep> normalizer;
  std::vector<SplitStep> splits;

  bool byte_fallback = false;       ///< What has no token becomes kByte tokens.
  bool fuse_unknown = true;         ///< A run of unknown characters is one unknown token.
  bool ignore_merges = false;       ///< A piece that is a whole token needs no merging (Llama 3).
  bool strip_prefix = false;        ///< decode() drops one space at the very start (SentencePiece).
  bool meta_space = false;          ///< U+2581 in a token is shown as a space.
  std::string continuation = "##";  ///< kWordPiece: how a token that continues a word begins.
  std::uint32_t max_word_characters = 100;  ///< kWordPiece: a longer word is unknown.
  /// kUnigram as SentencePiece itself does it: kUserDefined tokens are found by the best path, with
  /// a score that favours them, not before it (the normalizer keeps them); sums in single
  /// precision.
  bool symbols_by_score = false;
  bool clean_up = false;  ///< kWordPiece: decode() joins punctuation to the word before it.

  std::optional<TokenId> bos, eos, unknown, pad, separator, classifier;
  bool add_bos = false;
  bool add_eos = false;
  std::vector<TokenId>
      end_of_generation;  ///< eos and end-of-turn tokens: an answer ends at any of them.
};

}  // namespace weir::text
