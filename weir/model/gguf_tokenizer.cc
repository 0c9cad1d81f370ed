#include "weir/model/gguf_tokenizer.h"

#include <fmt/format.h>

#include "weir/base/utf8.h"
#include "weir/text/end_of_generation.h"
#include "weir/text/pretokenizer_families.h"

namespace weir::model {
namespace {

using text::NormalizerStep;
using text::TokenizerKind;
using text::TokenKind;
using text::Vocabulary;
using text::VocabularyToken;

constexpr std::string_view kMetaSpace = "\xE2\x96\x81";  // U+2581

std::string key(std::string_view name) { return fmt::format("tokenizer.ggml.{}", name); }

NormalizerStep step(NormalizerStep::Kind kind, std::string_view pattern = {},
                    std::string_view content = {}) {
  NormalizerStep s;
  s.kind = kind;
  s.pattern = pattern;
  s.content = content;
  return s;
}

/// The integers of an array, whichever way the file stored them.
Result<std::vector<std::int64_t>> integers(const format::ModelFile& file, std::string_view name) {
  if (const auto* values = file.array<std::int64_t>(key(name))) return *values;
  std::vector<std::int64_t> out;
  if (const auto* values = file.array<std::uint64_t>(key(name))) {
    for (const std::uint64_t v : *values) out.push_back(static_cast<std::int64_t>(v));
    return out;
  }
  return fail(Code::kCorrupt,
              fmt::format("{}: {} is not an array of integers", file.path(), key(name)));
}

/// The ggml token types 1 to 6.
std::optional<TokenKind> kind_of(std::int64_t type) {
  switch (type) {
    case 1:
      return TokenKind::kNormal;
    case 2:
      return TokenKind::kUnknown;
    case 3:
      return TokenKind::kControl;
    case 4:
      return TokenKind::kUserDefined;
    case 5:
      return TokenKind::kUnused;
    case 6:
      return TokenKind::kByte;
    default:
      return std::nullopt;
  }
}

Status read_tokens(const format::ModelFile& file, Vocabulary& v) {
  const auto* tokens = file.array<std::string>(key("tokens"));
  if (tokens == nullptr) {
    return fail(Code::kCorrupt, fmt::format("{}: {} is missing or not an array of texts",
                                            file.path(), key("tokens")));
  }
  v.tokens.resize(tokens->size());
  for (std::size_t id = 0; id < tokens->size(); ++id) v.tokens[id].text = (*tokens)[id];
  const auto length_error = [&](std::string_view name, std::size_t length) {
    return fail(Code::kCorrupt, fmt::format("{}: {} has {} entries for {} tokens", file.path(),
                                            key(name), length, tokens->size()));
  };
  if (file.metadata().contains(key("token_type"))) {
    WEIR_TRY(const auto types, integers(file, "token_type"));
    if (types.size() != tokens->size()) return length_error("token_type", types.size());
    for (std::size_t id = 0; id < types.size(); ++id) {
      // Type 0 is how some converters write "nothing special".
      const auto kind = kind_of(types[id] == 0 ? 1 : types[id]);
      if (!kind)
        return fail(Code::kCorrupt,
                    fmt::format("{}: token {} has type {}", file.path(), id, types[id]));
      v.tokens[id].kind = *kind;
    }
  }
  if (file.metadata().contains(key("scores"))) {
    const auto* scores = file.array<double>(key("scores"));
    if (scores == nullptr) {
      return fail(Code::kCorrupt,
                  fmt::format("{}: {} is not an array of numbers", file.path(), key("scores")));
    }
    if (scores->size() != tokens->size()) return length_error("scores", scores->size());
    for (std::size_t id = 0; id < scores->size(); ++id) v.tokens[id].score = (*scores)[id];
  }
  return {};
}

Status read_ids(const format::ModelFile& file, Vocabulary& v) {
  const auto read = [&](std::string_view name) -> Result<std::optional<TokenId>> {
    const auto id = file.integer(key(name));
    if (!id) return std::nullopt;
    // Some converters write 0xFFFFFFFF for "none".
    if (*id == 0xFFFFFFFFU || *id == ~std::uint64_t{0}) return std::nullopt;
    if (*id >= v.tokens.size()) {
      return fail(Code::kCorrupt, fmt::format("{}: {} is {}, outside the vocabulary of {}",
                                              file.path(), key(name), *id, v.tokens.size()));
    }
    return static_cast<TokenId>(*id);
  };
  WEIR_TRY(v.bos, read("bos_token_id"));
  WEIR_TRY(v.eos, read("eos_token_id"));
  WEIR_TRY(v.unknown, read("unknown_token_id"));
  WEIR_TRY(v.pad, read("padding_token_id"));
  WEIR_TRY(v.separator, read("seperator_token_id"));  // The key's own spelling.
  WEIR_TRY(v.classifier, read("cls_token_id"));
  if (!v.separator) {
    WEIR_TRY(v.separator, read("separator_token_id"));
  }
  if (v.eos) v.end_of_generation.push_back(*v.eos);
  for (const std::string_view name : {"eot_token_id", "eom_token_id"}) {
    WEIR_TRY(const auto id, read(name));
    if (id) v.end_of_generation.push_back(*id);
  }
  if (const auto add = file.boolean(key("add_bos_token"))) v.add_bos = *add;
  if (const auto add = file.boolean(key("add_eos_token"))) v.add_eos = *add;
  return {};
}

Status read_byte_bpe(const format::ModelFile& file, Vocabulary& v) {
  v.kind = TokenizerKind::kByteBpe;
  const auto pre = file.text(key("pre"));
  const auto family = text::pretokenizer_family(pre.value_or(""));
  if (!family) {
    return fail(
        Code::kUnsupported,
        pre ? fmt::format("{}: {} is '{}', a pre-tokenizer Weir does not have", file.path(),
                          key("pre"), utf8::sanitize(*pre))
            : fmt::format(
                  "{}: {} is missing, so how to cut text is unknown; convert the model again",
                  file.path(), key("pre")));
  }
  v.splits = family->splits;
  v.ignore_merges = family->ignore_merges;
  v.add_bos = family->add_bos;
  if (family->nfc) v.normalizer = {step(NormalizerStep::Kind::kNfc)};
  const auto* merges = file.array<std::string>(key("merges"));
  if (merges == nullptr) {
    return fail(Code::kCorrupt, fmt::format("{}: {} is missing or not an array of texts",
                                            file.path(), key("merges")));
  }
  for (const std::string& merge : *merges) {
    // A space is never inside a side: the printable alphabet writes it U+0120.
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string::npos || space + 1 >= merge.size()) {
      return fail(Code::kCorrupt,
                  fmt::format("{}: merge {} is not two texts", file.path(), v.merges.size()));
    }
    v.merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  return {};
}

Status read_sentencepiece(const format::ModelFile& file, Vocabulary& v, TokenizerKind kind) {
  v.kind = kind;
  if (!file.metadata().contains(key("scores"))) {
    return fail(Code::kCorrupt, fmt::format("{}: {} is missing", file.path(), key("scores")));
  }
  const bool t5 = kind == TokenizerKind::kUnigram;
  NormalizerStep rules = step(NormalizerStep::Kind::kSentencePiece);
  rules.collapse_spaces = file.boolean(key("remove_extra_whitespaces")).value_or(false);
  if (t5) {
    std::string& map = rules.pattern;
    if (const auto* bytes = file.array<std::uint64_t>(key("precompiled_charsmap"))) {
      for (const std::uint64_t b : *bytes) map += static_cast<char>(b);
    } else if (const auto* signed_bytes = file.array<std::int64_t>(key("precompiled_charsmap"))) {
      for (const std::int64_t b : *signed_bytes) map += static_cast<char>(b);
    }
  }
  const bool prefix = file.boolean(key("add_space_prefix")).value_or(true);
  if (!rules.pattern.empty() || rules.collapse_spaces) {
    for (const VocabularyToken& token : v.tokens) {
      if (token.kind == TokenKind::kUserDefined) rules.kept.push_back(token.text);
    }
    if (prefix) rules.content = " ";
    v.normalizer.push_back(std::move(rules));
  } else if (prefix) {  // The common case needs no walk over the text.
    v.normalizer.push_back(step(NormalizerStep::Kind::kPrepend, {}, " "));
  }
  v.normalizer.push_back(step(NormalizerStep::Kind::kReplace, " ", kMetaSpace));
  v.strip_prefix = prefix;
  v.meta_space = true;
  for (VocabularyToken& token : v.tokens) {
    v.byte_fallback = v.byte_fallback || token.kind == TokenKind::kByte;
    // SentencePiece looks for its user-defined symbols in escaped text.
    token.normalized = token.kind == TokenKind::kUserDefined;
  }
  v.symbols_by_score = t5;
  v.add_bos = !t5;
  v.add_eos = t5;
  return {};
}

Status read_word_piece(Vocabulary& v) {
  v.kind = TokenizerKind::kWordPiece;
  NormalizerStep bert = step(NormalizerStep::Kind::kBert);
  bert.clean_text = bert.chinese_spaces = bert.lowercase = bert.strip_accents = true;
  v.normalizer = {bert};
  text::SplitStep spaces;
  spaces.pattern = R"(\s)";
  spaces.behavior = text::SplitStep::Behavior::kRemoved;
  text::SplitStep punctuation;
  punctuation.pattern = R"([!-/:-@\[-`{-~\p{P}])";
  v.splits = {spaces, punctuation};
  v.clean_up = true;
  // Converters write "word" as U+2581 "word" and "##part" as "part"; put BERT's own form back.
  for (VocabularyToken& token : v.tokens) {
    if (token.kind != TokenKind::kNormal) continue;
    token.text = token.text.starts_with(kMetaSpace) ? token.text.substr(kMetaSpace.size())
                                                    : "##" + token.text;
  }
  v.add_bos = v.add_eos = true;
  return {};
}

}  // namespace

Result<Vocabulary> read_gguf_vocabulary(const format::ModelFile& file) {
  const auto model = file.text(key("model"));
  if (!model) {
    return fail(Code::kCorrupt, fmt::format("{}: {} is missing: the file has no tokenizer",
                                            file.path(), key("model")));
  }
  Vocabulary v;
  WEIR_TRY_STATUS(read_tokens(file, v));
  if (*model == "gpt2") {
    WEIR_TRY_STATUS(read_byte_bpe(file, v));
  } else if (*model == "llama") {
    WEIR_TRY_STATUS(read_sentencepiece(file, v, TokenizerKind::kScoredBpe));
  } else if (*model == "t5") {
    WEIR_TRY_STATUS(read_sentencepiece(file, v, TokenizerKind::kUnigram));
  } else if (*model == "bert") {
    WEIR_TRY_STATUS(read_word_piece(v));
  } else {
    return fail(Code::kUnsupported,
                fmt::format("{}: {} is '{}'; gpt2, llama, t5 and bert are supported", file.path(),
                            key("model"), utf8::sanitize(*model)));
  }
  WEIR_TRY_STATUS(read_ids(file, v));
  if (v.kind == TokenizerKind::kWordPiece) {
    // BERT's [CLS] and [SEP] stand where other models have bos and eos.
    if (!v.bos) v.bos = v.classifier;
    if (!v.eos) v.eos = v.separator;
    if (v.classifier) v.bos = v.classifier;
  }
  text::find_end_of_generation(v);
  return v;
}

}  // namespace weir::model
