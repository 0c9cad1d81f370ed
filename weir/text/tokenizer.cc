#include "weir/text/tokenizer.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>

#include "weir/base/utf8.h"
#include "weir/text/added_tokens.h"
#include "weir/text/normalizer.h"
#include "weir/text/piece_model.h"
#include "weir/text/shown_bytes.h"
#include "weir/text/splitter.h"
#include "weir/text/token_index.h"

namespace weir::text {
namespace {

constexpr std::size_t kMaxVocabularyBytes = std::size_t{1} << 29;

Status check_id(std::string_view name, const std::optional<TokenId>& id, std::size_t size) {
  if (!id || (*id >= 0 && static_cast<std::size_t>(*id) < size)) return {};
  return fail(Code::kCorrupt,
              fmt::format("the {} token's id {} is outside the vocabulary of {}", name, *id, size));
}

Status check(const Vocabulary& v) {
  if (v.tokens.empty()) return fail(Code::kCorrupt, "the vocabulary has no tokens");
  if (v.tokens.size() > Tokenizer::kMaxTokens) {
    return fail(Code::kTooLarge, fmt::format("a vocabulary of {} tokens; at most {} are read",
                                             v.tokens.size(), Tokenizer::kMaxTokens));
  }
  if (v.merges.size() > Tokenizer::kMaxMerges) {
    return fail(Code::kTooLarge, fmt::format("{} merges; at most {} are read", v.merges.size(),
                                             Tokenizer::kMaxMerges));
  }
  std::size_t bytes = 0;
  for (std::size_t id = 0; id < v.tokens.size(); ++id) {
    const VocabularyToken& token = v.tokens[id];
    const bool added = token.kind == TokenKind::kControl || token.kind == TokenKind::kUserDefined;
    const std::size_t most = added ? AddedTokens::kMaxBytes : Tokenizer::kMaxTokenBytes;
    if (token.text.size() > most) {
      return fail(Code::kTooLarge, fmt::format("token {} has {} bytes; at most {} are read", id,
                                               token.text.size(), most));
    }
    if (!std::isfinite(token.score)) {
      return fail(Code::kCorrupt, fmt::format("token {} has a score that is not a number", id));
    }
    bytes += token.text.size() + 1;
  }
  if (bytes > kMaxVocabularyBytes) {
    return fail(Code::kTooLarge, fmt::format("the vocabulary holds {} bytes; at most {} are read",
                                             bytes, kMaxVocabularyBytes));
  }
  const std::size_t n = v.tokens.size();
  WEIR_TRY_STATUS(check_id("bos", v.bos, n));
  WEIR_TRY_STATUS(check_id("eos", v.eos, n));
  WEIR_TRY_STATUS(check_id("unknown", v.unknown, n));
  WEIR_TRY_STATUS(check_id("pad", v.pad, n));
  WEIR_TRY_STATUS(check_id("separator", v.separator, n));
  WEIR_TRY_STATUS(check_id("classifier", v.classifier, n));
  for (const TokenId id : v.end_of_generation)
    WEIR_TRY_STATUS(check_id("end-of-generation", id, n));
  return {};
}

std::string with_meta_spaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ') {
      out += "\xE2\x96\x81";  // U+2581
    } else {
      out += c;
    }
  }
  return out;
}

/// Words repeat: what a piece became earlier in this call, as a place in the output. A small
/// direct-mapped table, so nothing is allocated per piece and nothing is shared between threads.
class Memory {
 public:
  explicit Memory(std::size_t text_bytes)
      : slots_(std::bit_ceil(std::clamp<std::size_t>(text_bytes / 4, kFewest, kMost))) {}

  void encode(std::string_view piece, const PieceModel& model, std::vector<TokenId>& out) {
    if (piece.size() > kLongest) return model.encode(piece, out);
    Slot& slot = slots_[XXH3_64bits(piece.data(), piece.size()) & (slots_.size() - 1)];
    if (slot.piece == piece) {
      const std::size_t before = out.size();
      out.resize(before + slot.count);
      std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(slot.begin), slot.count,
                  out.begin() + static_cast<std::ptrdiff_t>(before));
      return;
    }
    const std::size_t begin = out.size();
    model.encode(piece, out);
    slot = {piece, begin, out.size() - begin};
  }

 private:
  static constexpr std::size_t kFewest = 16;
  static constexpr std::size_t kMost = 16384;  // 32 bytes each: half a typical L2.
  static constexpr std::size_t kLongest = 128;
  struct Slot {
    std::string_view piece;
    std::size_t begin = 0, count = 0;
  };
  std::vector<Slot> slots_;
};

class PipelineTokenizer final : public Tokenizer {
 public:
  PipelineTokenizer(Vocabulary vocabulary, Normalizer normalizer, Splitter splitter)
      : Tokenizer(std::move(vocabulary)),
        normalizer_(std::move(normalizer)),
        splitter_(std::move(splitter)),
        shown_(vocabulary_) {}

  Status build() {
    WEIR_TRY(model_, PieceModel::create(vocabulary_));
    std::vector<std::string> raw_texts, normalized_texts;
    std::vector<TokenId> raw_ids, normalized_ids;
    // tokenizer.json normalizes such a token's own text too, dummy prefix and all; SentencePiece
    // takes it as it stands, and GGUF writes its spaces as spaces.
    const bool escaped = vocabulary_.kind == TokenizerKind::kScoredBpe;
    const bool prepend = vocabulary_.kind == TokenizerKind::kCharBpe;
    for (std::size_t id = 0; id < vocabulary_.tokens.size(); ++id) {
      const VocabularyToken& token = vocabulary_.tokens[id];
      const bool symbol = token.kind == TokenKind::kUserDefined && !vocabulary_.symbols_by_score;
      if (token.kind != TokenKind::kControl && !symbol) continue;
      if (token.normalized && token.kind == TokenKind::kUserDefined && !normalizer_.empty() &&
          utf8::find_invalid(token.text) == std::string::npos) {
        normalized_texts.push_back(escaped ? with_meta_spaces(token.text)
                                           : normalizer_.apply(token.text, prepend));
        normalized_ids.push_back(static_cast<TokenId>(id));
      } else {
        raw_texts.push_back(token.text);
        raw_ids.push_back(static_cast<TokenId>(id));
      }
    }
    added_ = AddedTokens(vocabulary_, std::move(raw_texts), std::move(raw_ids));
    added_normalized_ =
        AddedTokens(vocabulary_, std::move(normalized_texts), std::move(normalized_ids));
    return {};
  }

  using Tokenizer::encode;
  std::vector<TokenId> encode(std::span<const Span> spans, EncodeOptions options) const override {
    std::string joined;
    Trust trust;
    for (const Span& span : spans) {
      if (span.text.empty()) continue;
      joined += span.text;
      if (!trust.runs.empty() && trust.runs.back().trusted == span.trusted) trust.runs.pop_back();
      trust.runs.push_back({joined.size(), span.trusted});
    }
    Call call(joined.size(), splitter_);
    call.out.reserve(joined.size() / 3 + 2);
    if (options.add_special && vocabulary_.add_bos && vocabulary_.bos)
      call.out.push_back(*vocabulary_.bos);
    const std::string_view text = joined;
    for (const AddedTokens::Part& part : added_.cut(text, trust)) {
      if (part.id == AddedTokens::kText) {
        encode_stretch(text.substr(part.begin, part.end - part.begin), part.begin == 0, call);
      } else {
        call.out.push_back(part.id);
      }
    }
    if (options.add_special && vocabulary_.add_eos && vocabulary_.eos)
      call.out.push_back(*vocabulary_.eos);
    return std::move(call.out);
  }

  [[nodiscard]] std::string_view bytes(TokenId token) const override {
    return shown_.middle(token);
  }
  [[nodiscard]] std::string_view first_bytes(TokenId token) const override {
    return shown_.first(token);
  }

  [[nodiscard]] std::string decode(std::span<const TokenId> tokens) const override {
    std::string text;
    bool first = true;
    for (const TokenId token : tokens) {
      if (!is_shown(token)) continue;
      text += first ? first_bytes(token) : bytes(token);
      first = false;
    }
    return text;
  }

 private:
  struct Call {
    Call(std::size_t text_bytes, const Splitter& splitter)
        : memory(text_bytes), scratch(splitter) {}
    std::vector<TokenId> out;
    Memory memory;
    Splitter::Scratch scratch;
    std::deque<std::string> made;  ///< Texts that pieces point into.
  };

  /// Any bytes, free of added tokens.
  void encode_stretch(std::string_view text, bool at_start, Call& call) const {
    if (!model_->writes_bytes()) {
      if (utf8::find_invalid(text) != std::string_view::npos)
        text = call.made.emplace_back(utf8::sanitize(text));
      return encode_valid(text, true, at_start, call);
    }
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t valid = std::min(utf8::find_invalid(text.substr(at)), text.size() - at);
      // The dummy prefix stands before the stretch also when that begins with a bad byte.
      if (valid > 0 || at == 0)
        encode_valid(text.substr(at, valid), at == 0, at_start && at == 0, call);
      at += valid;
      std::size_t bad = at;
      while (bad < text.size()) {
        const utf8::Decoded d = utf8::decode(text, bad);
        if (d.valid) break;
        bad += d.size;
      }
      if (bad > at) model_->encode_bytes(text.substr(at, bad - at), call.out);
      at = bad;
    }
  }

  void encode_valid(std::string_view text, bool prepend, bool at_start, Call& call) const {
    if (!normalizer_.empty()) text = call.made.emplace_back(normalizer_.apply(text, prepend));
    if (added_normalized_.empty()) return encode_pieces(text, at_start, call);
    for (const AddedTokens::Part& part : added_normalized_.cut(text, Trust{})) {
      if (part.id == AddedTokens::kText) {
        encode_pieces(text.substr(part.begin, part.end - part.begin), at_start && part.begin == 0,
                      call);
      } else {
        call.out.push_back(part.id);
      }
    }
  }

  void encode_pieces(std::string_view text, bool at_start, Call& call) const {
    splitter_.run(text, at_start, call.scratch, [&](std::string_view piece) {
      for (std::size_t at = 0; at < piece.size();) {
        const std::size_t end = model_->next_cut(piece, at);
        call.memory.encode(piece.substr(at, end - at), *model_, call.out);
        at = end;
      }
    });
  }

  Normalizer normalizer_;
  Splitter splitter_;
  ShownBytes shown_;
  std::unique_ptr<PieceModel> model_;
  AddedTokens added_;
  AddedTokens added_normalized_;
};

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {
  std::vector<std::string_view> texts;
  texts.reserve(vocabulary_.tokens.size());
  for (const VocabularyToken& token : vocabulary_.tokens) texts.push_back(token.text);
  index_ = TokenIndex(std::move(texts), [](TokenId) { return true; });
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(Vocabulary vocabulary) {
  WEIR_TRY_STATUS(check(vocabulary));
  WEIR_TRY(auto normalizer, Normalizer::create(vocabulary.normalizer));
  WEIR_TRY(auto splitter, Splitter::create(vocabulary.splits));
  auto tokenizer = std::make_unique<PipelineTokenizer>(std::move(vocabulary), std::move(normalizer),
                                                       std::move(splitter));
  WEIR_TRY_STATUS(tokenizer->build());
  return tokenizer;
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, bool trusted,
                                       EncodeOptions options) const {
  const Span span{std::string(text), trusted};
  return encode(std::span(&span, 1), options);
}

bool Tokenizer::is_control(TokenId token) const {
  return token >= 0 && token < size() &&
         vocabulary_.tokens[static_cast<std::size_t>(token)].kind == TokenKind::kControl;
}

bool Tokenizer::is_shown(TokenId token) const {
  if (token < 0 || token >= size()) return false;
  const TokenKind kind = vocabulary_.tokens[static_cast<std::size_t>(token)].kind;
  return kind != TokenKind::kControl && kind != TokenKind::kUnknown;
}

bool Tokenizer::ends_generation(TokenId token) const {
  const auto& ends = vocabulary_.end_of_generation;
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

std::optional<TokenId> Tokenizer::find(std::string_view token_text) const {
  return index_.find(token_text);
}

}  // namespace weir::text
