#include "weir/text/word_piece.h"

#include <optional>

#include "weir/base/utf8.h"
#include "weir/text/byte_trie.h"

namespace weir::text {
namespace {

class WordPiece final : public PieceModel {
 public:
  void encode(std::string_view word, std::vector<TokenId>& out) const override {
    const std::size_t before = out.size();
    const auto give_up = [&] {
      out.resize(before);
      if (unknown_) out.push_back(*unknown_);
    };
    std::size_t characters = 0;
    for (std::size_t i = 0; i < word.size(); i += utf8::decode(word, i).size) {
      if (++characters > max_characters_) return give_up();
    }
    for (std::size_t at = 0; at < word.size();) {
      const auto longest = (at == 0 ? first_ : next_).longest(word.substr(at));
      if (longest.length == 0) return give_up();
      out.push_back(longest.value);
      at += longest.length;
    }
  }

  void encode_bytes(std::string_view, std::vector<TokenId>&) const override {}
  [[nodiscard]] bool writes_bytes() const override { return false; }

  Status build(const Vocabulary& v) {
    unknown_ = v.unknown;
    max_characters_ = v.max_word_characters;
    std::vector<std::pair<std::string_view, std::int32_t>> first, next;
    for (std::size_t id = 0; id < v.tokens.size(); ++id) {
      const VocabularyToken& token = v.tokens[id];
      const std::string_view text = token.text;
      const bool piece = token.kind == TokenKind::kNormal || token.kind == TokenKind::kUserDefined;
      if (!piece || utf8::find_invalid(text) != std::string_view::npos) continue;
      first.emplace_back(text, static_cast<std::int32_t>(id));
      if (text.starts_with(v.continuation)) {
        next.emplace_back(text.substr(v.continuation.size()), static_cast<std::int32_t>(id));
      }
    }
    first_ = ByteTrie(std::move(first));
    next_ = ByteTrie(std::move(next));
    return {};
  }

 private:
  ByteTrie first_, next_;
  std::optional<TokenId> unknown_;
  std::size_t max_characters_ = 0;
};

}  // namespace

Result<std::unique_ptr<PieceModel>> make_word_piece(const Vocabulary& vocabulary) {
  auto model = std::make_unique<WordPiece>();
  WEIR_TRY_STATUS(model->build(vocabulary));
  return model;
}

}  // namespace weir::text
