#include "weir/text/char_bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <bitset>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "weir/base/utf8.h"
#include "weir/text/merge_table.h"
#include "weir/text/token_index.h"

namespace weir::text {
namespace {

/// Which two characters stand next to each other in some token that merging can make.
class Neighbours {
 public:
  void add(std::uint32_t a, std::uint32_t b) {
    if (a < 128 && b < 128) {
      ascii_.set(a << 7 | b);
    } else {
      others_.insert(std::uint64_t{a} << 32 | b);
    }
  }
  [[nodiscard]] bool together(std::uint32_t a, std::uint32_t b) const {
    if (a < 128 && b < 128) return ascii_.test(a << 7 | b);
    return others_.contains(std::uint64_t{a} << 32 | b);
  }

 private:
  std::bitset<128 * 128> ascii_;
  std::unordered_set<std::uint64_t> others_;
};

class CharBpe final : public PieceModel {
 public:
  void encode(std::string_view piece, std::vector<TokenId>& out) const override {
    if (ignore_merges_) {
      if (const auto whole = index_.find(piece)) {
        out.push_back(*whole);
        return;
      }
    }
    std::vector<std::uint32_t> symbols;
    std::vector<std::uint32_t> strangers;  // Characters of no token, by symbol - first_stranger_.
    symbols.reserve(piece.size());
    for (std::size_t i = 0; i < piece.size();) {
      const utf8::Decoded d = utf8::decode(piece, i);
      i += d.size;
      const std::uint32_t symbol = symbol_of(d.code_point);
      if (symbol != MergeTable::kNone) {
        symbols.push_back(symbol);
      } else {
        symbols.push_back(first_stranger_ + static_cast<std::uint32_t>(strangers.size()));
        strangers.push_back(d.code_point);
      }
    }
    std::vector<MergeTable::Made> made;
    merges_.merge(symbols, has_unused_ ? &made : nullptr);
    if (has_unused_) take_apart_unused(symbols, made);
    bool previous_unknown = false;
    for (const std::uint32_t symbol : symbols) {
      if (symbol < tokens_) {
        out.push_back(static_cast<TokenId>(symbol));
        previous_unknown = false;
        continue;
      }
      const std::uint32_t c =
          symbol < first_stranger_ ? loose_[symbol - tokens_] : strangers[symbol - first_stranger_];
      std::string bytes;
      utf8::append(bytes, c);
      if (can_write(bytes)) {
        encode_bytes(bytes, out);
        previous_unknown = false;
      } else if (unknown_ && !(previous_unknown && fuse_unknown_)) {
        out.push_back(*unknown_);
        previous_unknown = true;
      }
    }
  }

  void encode_bytes(std::string_view bytes, std::vector<TokenId>& out) const override {
    for (const char c : bytes) out.push_back(byte_ids_[static_cast<std::uint8_t>(c)]);
  }

  [[nodiscard]] bool writes_bytes() const override { return all_bytes_; }

  [[nodiscard]] std::size_t next_cut(std::string_view piece, std::size_t from) const override {
    if (ignore_merges_) return piece.size();
    utf8::Decoded left = utf8::decode(piece, from);
    for (std::size_t i = from + left.size; i < piece.size();) {
      const utf8::Decoded right = utf8::decode(piece, i);
      // Two strangers stay together: they may be one unknown token.
      if (!neighbours_.together(left.code_point, right.code_point) &&
          (all_bytes_ || symbol_of(left.code_point) != MergeTable::kNone ||
           symbol_of(right.code_point) != MergeTable::kNone)) {
        return i;
      }
      left = right;
      i += right.size;
    }
    return piece.size();
  }

  Status build(const Vocabulary& v) {
    tokens_ = static_cast<std::uint32_t>(v.tokens.size());
    unused_.assign(tokens_, false);
    unknown_ = v.unknown;
    fuse_unknown_ = v.fuse_unknown;
    ignore_merges_ = v.ignore_merges;
    byte_ids_.fill(-1);
    if (v.byte_fallback) byte_ids_ = byte_tokens(v);
    all_bytes_ =
        std::all_of(byte_ids_.begin(), byte_ids_.end(), [](TokenId id) { return id >= 0; });
    std::vector<std::string_view> texts;
    texts.reserve(v.tokens.size());
    for (const VocabularyToken& token : v.tokens) texts.push_back(token.text);
    index_ = TokenIndex(std::move(texts), [&](TokenId id) {
      const VocabularyToken& token = v.tokens[static_cast<std::size_t>(id)];
      // SentencePiece matches a user-defined symbol whole and before; it still may grow by merging.
      const bool piece = token.kind == TokenKind::kNormal ||
                         token.kind == TokenKind::kUserDefined || token.kind == TokenKind::kUnused;
      return piece && !token.text.empty() && utf8::find_invalid(token.text) == std::string::npos;
    });
    return v.kind == TokenizerKind::kScoredBpe ? build_from_scores(v) : build_from_ranks(v);
  }

 private:
  [[nodiscard]] std::uint32_t symbol_of(std::uint32_t c) const {
    if (c < 128) return ascii_[c];
    const auto it = characters_.find(c);
    return it == characters_.end() ? MergeTable::kNone : it->second;
  }

  [[nodiscard]] bool can_write(std::string_view bytes) const {
    return std::all_of(bytes.begin(), bytes.end(),
                       [&](char c) { return byte_ids_[static_cast<std::uint8_t>(c)] >= 0; });
  }

  void learn_character(std::uint32_t c, std::uint32_t symbol) {
    if (c < 128) {
      ascii_[c] = symbol;
    } else {
      characters_.emplace(c, symbol);
    }
  }

  /// Every character of a token is a symbol, also when it is no token itself ("loose").
  void learn_characters(std::string_view text, bool loose_too) {
    std::uint32_t previous = 0;
    for (std::size_t i = 0; i < text.size();) {
      const utf8::Decoded d = utf8::decode(text, i);
      if (symbol_of(d.code_point) == MergeTable::kNone) {
        const auto id = index_.find(text.substr(i, d.size));
        if (id) {
          learn_character(d.code_point, static_cast<std::uint32_t>(*id));
        } else if (loose_too) {
          learn_character(d.code_point, tokens_ + static_cast<std::uint32_t>(loose_.size()));
          loose_.push_back(d.code_point);
        }
      }
      if (i > 0) neighbours_.add(previous, d.code_point);
      previous = d.code_point;
      i += d.size;
    }
  }

  [[nodiscard]] bool is_piece(std::size_t id, const Vocabulary& v) const {
    return index_.find(v.tokens[id].text) == static_cast<TokenId>(id);
  }

  Status build_from_scores(const Vocabulary& v) {
    ascii_.fill(MergeTable::kNone);
    std::vector<std::uint32_t> order;  // Tokens by score, best first: the priority is the place.
    for (std::size_t id = 0; id < v.tokens.size(); ++id) {
      unused_[id] = v.tokens[id].kind == TokenKind::kUnused;
      has_unused_ = has_unused_ || unused_[id];
      if (!is_piece(id, v)) continue;
      learn_characters(v.tokens[id].text, true);
      order.push_back(static_cast<std::uint32_t>(id));
    }
    first_stranger_ = tokens_ + static_cast<std::uint32_t>(loose_.size());
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const double left = v.tokens[a].score;
      const double right = v.tokens[b].score;
      return left != right ? left > right : a < b;
    });
    struct Pair {
      std::uint32_t left, right;
      MergeTable::Rule rule;
    };
    std::vector<Pair> pairs;
    std::uint32_t priority = 0;
    for (std::size_t place = 0; place < order.size(); ++place) {
      // Equal scores are equal priorities; the leftmost pair then goes first.
      if (place > 0 && v.tokens[order[place]].score != v.tokens[order[place - 1]].score) ++priority;
      const std::string_view text = v.tokens[order[place]].text;
      for (std::size_t cut = utf8::decode(text, 0).size; cut < text.size();
           cut += utf8::decode(text, cut).size) {
        const std::uint32_t left = symbol_of_text(text.substr(0, cut));
        if (left == MergeTable::kNone) continue;
        const std::uint32_t right = symbol_of_text(text.substr(cut));
        if (right != MergeTable::kNone) pairs.push_back({left, right, {priority, order[place]}});
      }
    }
    merges_ = MergeTable(pairs.size());
    for (const Pair& pair : pairs) merges_.add(pair.left, pair.right, pair.rule);
    return {};
  }

  [[nodiscard]] std::uint32_t symbol_of_text(std::string_view text) const {
    if (const auto id = index_.find(text)) return static_cast<std::uint32_t>(*id);
    const utf8::Decoded d = utf8::decode(text, 0);
    return d.size == text.size() ? symbol_of(d.code_point) : MergeTable::kNone;
  }

  Status build_from_ranks(const Vocabulary& v) {
    ascii_.fill(MergeTable::kNone);
    for (std::size_t id = 0; id < v.tokens.size(); ++id) {
      const std::string_view text = v.tokens[id].text;
      if (is_piece(id, v) && utf8::decode(text, 0).size == text.size())
        learn_characters(text, false);
    }
    first_stranger_ = tokens_;
    merges_ = MergeTable(v.merges.size());
    for (std::size_t rank = 0; rank < v.merges.size(); ++rank) {
      const auto& [left, right] = v.merges[rank];
      const auto l = index_.find(left);
      const auto r = index_.find(right);
      const auto result = index_.find(left + right);
      if (!l || !r || !result) {
        return fail(Code::kCorrupt,
                    fmt::format("merge {} ('{}' + '{}'): no such token in the vocabulary", rank,
                                utf8::sanitize(left), utf8::sanitize(right)));
      }
      learn_characters(v.tokens[static_cast<std::size_t>(*result)].text, false);
      merges_.add(static_cast<std::uint32_t>(*l), static_cast<std::uint32_t>(*r),
                  {static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(*result)});
    }
    return {};
  }

  /// SentencePiece merges through unused tokens and then takes them apart the way they were made.
  void take_apart_unused(std::vector<std::uint32_t>& symbols,
                         const std::vector<MergeTable::Made>& made) const {
    std::unordered_map<std::uint32_t, MergeTable::Made> by_symbol;
    for (const MergeTable::Made& m : made) {
      if (m.symbol < tokens_ && unused_[m.symbol]) by_symbol[m.symbol] = m;
    }
    if (by_symbol.empty()) return;
    std::vector<std::uint32_t> done;
    std::vector<std::uint32_t> rest(symbols.rbegin(), symbols.rend());
    while (!rest.empty()) {
      const std::uint32_t symbol = rest.back();
      rest.pop_back();
      const auto it = by_symbol.find(symbol);
      if (it == by_symbol.end()) {
        done.push_back(symbol);
      } else {
        rest.push_back(it->second.right);
        rest.push_back(it->second.left);
      }
    }
    symbols = std::move(done);
  }

  std::uint32_t tokens_ = 0;  ///< Symbols below are token ids,
  std::uint32_t first_stranger_ =
      0;  ///< below here loose characters, above characters of no token.
  std::vector<std::uint32_t> loose_;
  std::array<std::uint32_t, 128> ascii_{};
  std::unordered_map<std::uint32_t, std::uint32_t> characters_;
  Neighbours neighbours_;
  TokenIndex index_;
  MergeTable merges_;
  std::array<TokenId, 256> byte_ids_{};
  bool all_bytes_ = false;
  std::optional<TokenId> unknown_;
  bool fuse_unknown_ = true;
  bool ignore_merges_ = false;
  bool has_unused_ = false;
  std::vector<bool> unused_;
};

}  // namespace

Result<std::unique_ptr<PieceModel>> make_char_bpe(const Vocabulary& vocabulary) {
  auto model = std::make_unique<CharBpe>();
  WEIR_TRY_STATUS(model->build(vocabulary));
  return model;
}

}  // namespace weir::text
