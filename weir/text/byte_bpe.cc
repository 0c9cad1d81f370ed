#include "weir/text/byte_bpe.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/utf8.h"
#include "weir/text/byte_alphabet.h"
#include "weir/text/merge_table.h"
#include "weir/text/token_index.h"

namespace weir::text {
namespace {

class ByteBpe final : public PieceModel {
 public:
  void encode(std::string_view piece, std::vector<TokenId>& out) const override {
    if (ignore_merges_) {
      if (const auto whole = whole_pieces_.find(piece)) {
        out.push_back(*whole);
        return;
      }
    }
    encode_bytes(piece, out);
  }

  void encode_bytes(std::string_view bytes, std::vector<TokenId>& out) const override {
    std::vector<std::uint32_t> symbols;
    symbols.reserve(bytes.size());
    for (const char c : bytes) {
      // A byte with no token is dropped, as by the reference (SmolLM2 lacks 21, such as 0x04).
      const std::uint32_t id = byte_ids_[static_cast<std::uint8_t>(c)];
      if (id != MergeTable::kNone) symbols.push_back(id);
    }
    merges_.merge(symbols);
    for (const std::uint32_t id : symbols) out.push_back(static_cast<TokenId>(id));
  }

  [[nodiscard]] bool writes_bytes() const override { return true; }

  Status build(const Vocabulary& v) {
    std::vector<std::string_view> stored;
    stored.reserve(v.tokens.size());
    for (const VocabularyToken& token : v.tokens) stored.push_back(token.text);
    const auto is_piece = [&](TokenId id) {
      const TokenKind kind = v.tokens[static_cast<std::size_t>(id)].kind;
      return kind == TokenKind::kNormal || kind == TokenKind::kUserDefined;
    };
    const TokenIndex index(stored, is_piece);

    // Some files name a control token as the unknown one (<|endoftext|>); text must not become it.
    const bool has_unknown =
        v.unknown && v.tokens[static_cast<std::size_t>(*v.unknown)].kind != TokenKind::kControl;
    byte_ids_.fill(has_unknown ? static_cast<std::uint32_t>(*v.unknown) : MergeTable::kNone);
    for (int byte = 0; byte < 256; ++byte) {
      const auto id = index.find(alphabet_from_bytes(std::string(1, static_cast<char>(byte))));
      if (id) byte_ids_[static_cast<std::size_t>(byte)] = static_cast<std::uint32_t>(*id);
    }
    merges_ = MergeTable(v.merges.size());
    for (std::size_t rank = 0; rank < v.merges.size(); ++rank) {
      const auto& [left, right] = v.merges[rank];
      const auto l = index.find(left);
      const auto r = index.find(right);
      const auto result = index.find(left + right);
      if (!l || !r || !result) {
        return fail(Code::kCorrupt,
                    fmt::format("merge {} ('{}' + '{}'): no such token in the vocabulary", rank,
                                utf8::sanitize(left), utf8::sanitize(right)));
      }
      merges_.add(static_cast<std::uint32_t>(*l), static_cast<std::uint32_t>(*r),
                  {static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(*result)});
    }
    ignore_merges_ = v.ignore_merges;
    if (ignore_merges_) {
      raw_.resize(v.tokens.size());
      std::vector<bool> use(v.tokens.size());
      for (std::size_t id = 0; id < v.tokens.size(); ++id) {
        auto bytes = bytes_from_alphabet(v.tokens[id].text);
        use[id] = bytes.has_value() && is_piece(static_cast<TokenId>(id));
        if (bytes) raw_[id] = *std::move(bytes);
      }
      whole_pieces_ = TokenIndex({raw_.begin(), raw_.end()},
                                 [&](TokenId id) { return use[static_cast<std::size_t>(id)]; });
    }
    return {};
  }

 private:
  std::array<std::uint32_t, 256> byte_ids_{};
  MergeTable merges_;
  bool ignore_merges_ = false;
  std::vector<std::string> raw_;  ///< By id, only for ignore_merges.
  TokenIndex whole_pieces_;
};

}  // namespace

Result<std::unique_ptr<PieceModel>> make_byte_bpe(const Vocabulary& vocabulary) {
  auto model = std::make_unique<ByteBpe>();
  WEIR_TRY_STATUS(model->build(vocabulary));
  return model;
}

}  // namespace weir::text
