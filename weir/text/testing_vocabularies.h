#pragma once

/// Small vocabularies of every kind, for tests and fuzz targets.

#include <string>
#include <utility>
#include <vector>

#include "weir/text/byte_alphabet.h"
#include "weir/text/pretokenizer_families.h"
#include "weir/text/vocabulary.h"

namespace weir::text {

/// All bytes, <|end|> (control), and what the merges make; cut as Llama 3 cuts. `complete`: the
/// merges' results become tokens.
inline Vocabulary byte_bpe_vocabulary(
    const std::vector<std::pair<std::string, std::string>>& merges, bool complete = true) {
  Vocabulary v;
  v.kind = TokenizerKind::kByteBpe;
  for (int byte = 0; byte < 256; ++byte) {
    v.tokens.push_back({.text = alphabet_from_bytes(std::string(1, static_cast<char>(byte)))});
  }
  v.tokens.push_back({.text = "<|end|>", .kind = TokenKind::kControl});
  for (const auto& [left, right] : merges) {
    if (complete) v.tokens.push_back({.text = left + right});
  }
  v.merges = merges;
  v.splits = pretokenizer_family("llama-bpe")->splits;
  return v;
}

/// SentencePiece BPE as Llama 2 has it: bytes, "▁hello" by way of "he", "ll", "hell", "hello".
inline Vocabulary scored_vocabulary() {
  Vocabulary v;
  v.kind = TokenizerKind::kScoredBpe;
  v.tokens = {{.text = "<unk>", .kind = TokenKind::kUnknown},
              {.text = "<s>", .kind = TokenKind::kControl},
              {.text = "</s>", .kind = TokenKind::kControl}};
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    v.tokens.push_back({.text = std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">",
                        .kind = TokenKind::kByte});
  }
  double score = 0;
  for (const char* text : {"he", "ll", "hell", "hello", "\u2581hello", "\u2581\u2581", "\u2581",
                           "h", "e", "l", "o", "!"}) {
    v.tokens.push_back({.text = text, .score = score});
    score -= 1;
  }
  v.tokens.push_back({.text = "<tool>", .kind = TokenKind::kUserDefined, .normalized = true});
  NormalizerStep prepend;
  prepend.kind = NormalizerStep::Kind::kPrepend;
  prepend.content = " ";
  NormalizerStep escape;
  escape.kind = NormalizerStep::Kind::kReplace;
  escape.pattern = " ";
  escape.content = "\u2581";
  v.normalizer = {prepend, escape};
  v.byte_fallback = v.meta_space = v.strip_prefix = v.add_bos = true;
  v.unknown = 0;
  v.bos = 1;
  v.eos = 2;
  return v;
}

inline Vocabulary unigram_vocabulary() {
  Vocabulary v;
  v.kind = TokenizerKind::kUnigram;
  v.tokens = {{.text = "<unk>", .kind = TokenKind::kUnknown},
              {.text = "a", .score = -2},
              {.text = "b", .score = -2},
              {.text = "c", .score = -2},
              {.text = "ab", .score = -3},
              {.text = "bc", .score = -3.5},
              {.text = "\u2581", .score = -2},
              {.text = "\u00e9", .score = -4}};
  v.unknown = 0;
  return v;
}

inline Vocabulary word_piece_vocabulary() {
  Vocabulary v;
  v.kind = TokenizerKind::kWordPiece;
  for (const char* text : {"[UNK]", "[CLS]", "[SEP]"})
    v.tokens.push_back({.text = text, .kind = TokenKind::kControl});
  for (const char* text :
       {"un", "want", "##want", "##ed", "resume", ",", "!", "##s", "runn", "##ing"}) {
    v.tokens.push_back({.text = text});
  }
  NormalizerStep bert;
  bert.kind = NormalizerStep::Kind::kBert;
  bert.clean_text = bert.chinese_spaces = bert.strip_accents = bert.lowercase = true;
  v.normalizer = {bert};
  SplitStep spaces;
  spaces.pattern = "\\s";
  spaces.behavior = SplitStep::Behavior::kRemoved;
  SplitStep punctuation;
  punctuation.pattern = R"([!-/:-@\[-`{-~\p{P}])";
  v.splits = {spaces, punctuation};
  v.unknown = 0;
  v.bos = 1;
  v.eos = 2;
  v.add_bos = v.add_eos = v.clean_up = true;
  return v;
}

}  // namespace weir::text
