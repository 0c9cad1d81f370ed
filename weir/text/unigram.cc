#include "weir/text/unigram.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "weir/base/utf8.h"
#include "weir/text/byte_trie.h"

namespace weir::text {
namespace {

constexpr double kUnknownPenalty = 10.0;  // SentencePiece's kUnkPenalty, below the worst token.
constexpr float kFarSum = 100000.0F;      // Beyond it SentencePiece counts sums from zero again.

/// SentencePiece 0.2.3: above any sum of log probabilities, and the longer the better, so that
/// symbols win whatever their own score says. (To 0.2.1 it was -0.1 for any length.)
float symbol_score(std::size_t bytes) {
  return static_cast<float>(0.1 * (static_cast<double>(bytes) - 1.0));
}

class Unigram final : public PieceModel {
 public:
  void encode(std::string_view piece, std::vector<TokenId>& out) const override {
    if (single_precision_) {
      encode_summing<float>(piece, out);
    } else {
      encode_summing<double>(piece, out);
    }
  }

  void encode_bytes(std::string_view bytes, std::vector<TokenId>& out) const override {
    for (const char c : bytes) out.push_back(byte_ids_[static_cast<std::uint8_t>(c)]);
  }

  [[nodiscard]] bool writes_bytes() const override { return all_bytes_; }

  Status build(const Vocabulary& v) {
    unknown_ = v.unknown;
    fuse_unknown_ = v.fuse_unknown;
    single_precision_ = v.symbols_by_score;
    byte_ids_.fill(-1);
    if (v.byte_fallback) byte_ids_ = byte_tokens(v);
    all_bytes_ =
        std::all_of(byte_ids_.begin(), byte_ids_.end(), [](TokenId id) { return id >= 0; });
    std::vector<std::pair<std::string_view, std::int32_t>> entries;
    double worst = 0.0;
    for (std::size_t id = 0; id < v.tokens.size(); ++id) {
      const VocabularyToken& token = v.tokens[id];
      scores_.push_back(token.score);
      const bool piece = token.kind == TokenKind::kNormal || token.kind == TokenKind::kUserDefined;
      if (!piece || utf8::find_invalid(token.text) != std::string::npos) continue;
      entries.emplace_back(token.text, static_cast<std::int32_t>(id));
      if (token.kind == TokenKind::kNormal) worst = std::min(worst, token.score);
      if (token.kind == TokenKind::kUserDefined && v.symbols_by_score) {
        scores_[id] = static_cast<double>(symbol_score(token.text.size()));
      }
    }
    unknown_score_ = worst - kUnknownPenalty;
    trie_ = ByteTrie(std::move(entries));
    return {};
  }

 private:
  /// SentencePiece keeps sums in float and the package in double; near-ties come out by that.
  template <class Sum>
  void encode_summing(std::string_view piece, std::vector<TokenId>& out) const {
    struct Best {
      Sum score = 0;
      std::size_t begin = kNowhere;
      TokenId id = kUnknownToken;
    };
    std::vector<Best> best(piece.size() + 1);  // By end of token.
    best[0].begin = 0;
    std::size_t frontier = 0;  // No token found so far ends behind it.
    for (std::size_t at = 0; at < piece.size();) {
      if (std::is_same_v<Sum, float> && std::abs(best[at].score) > kFarSum) {
        const Sum far = best[at].score;
        for (std::size_t i = at; i <= frontier; ++i) best[i].score -= far;
      }
      const std::size_t size = utf8::decode(piece, at).size;
      const Sum here = best[at].score;
      bool single = false;
      const auto offer = [&](std::size_t length, TokenId id, double score) {
        frontier = std::max(frontier, at + length);
        Best& target = best[at + length];
        const Sum sum = static_cast<Sum>(score) + here;
        if (target.begin == kNowhere || sum > target.score) target = {sum, at, id};
      };
      trie_.prefixes(piece.substr(at), [&](std::size_t length, TokenId id) {
        offer(length, id, scores_[static_cast<std::size_t>(id)]);
        single = single || length == size;
      });
      if (!single) offer(size, kUnknownToken, unknown_score_);
      at += size;
    }
    std::vector<std::pair<std::size_t, TokenId>> path;  // Begin of each token, backwards.
    for (std::size_t end = piece.size(); end > 0; end = best[end].begin) {
      path.emplace_back(best[end].begin, best[end].id);
    }
    bool previous_unknown = false;
    for (std::size_t i = path.size(); i-- > 0;) {
      const std::size_t end = i == 0 ? piece.size() : path[i - 1].first;
      const TokenId id = path[i].second;
      if (id != kUnknownToken) {
        out.push_back(id);
      } else if (all_bytes_) {
        encode_bytes(piece.substr(path[i].first, end - path[i].first), out);
      } else if (unknown_ && !(previous_unknown && fuse_unknown_)) {
        out.push_back(*unknown_);
      }
      previous_unknown = id == kUnknownToken;
    }
  }

  static constexpr std::size_t kNowhere = ~std::size_t{0};
  static constexpr TokenId kUnknownToken = -1;

  ByteTrie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0.0;
  std::array<TokenId, 256> byte_ids_{};
  bool all_bytes_ = false;
  std::optional<TokenId> unknown_;
  bool fuse_unknown_ = true;
  bool single_precision_ = false;
};

}  // namespace

Result<std::unique_ptr<PieceModel>> make_unigram(const Vocabulary& vocabulary) {
  auto model = std::make_unique<Unigram>();
  WEIR_TRY_STATUS(model->build(vocabulary));
  return model;
}

}  // namespace weir::text
