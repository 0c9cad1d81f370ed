#include "weir/text/piece_model.h"

#include <algorithm>

#include "weir/text/byte_bpe.h"
#include "weir/text/char_bpe.h"
#include "weir/text/unigram.h"
#include "weir/text/word_piece.h"

namespace weir::text {

Result<std::unique_ptr<PieceModel>> PieceModel::create(const Vocabulary& vocabulary) {
  switch (vocabulary.kind) {
    case TokenizerKind::kByteBpe:
      return make_byte_bpe(vocabulary);
    case TokenizerKind::kCharBpe:
    case TokenizerKind::kScoredBpe:
      return make_char_bpe(vocabulary);
    case TokenizerKind::kUnigram:
      return make_unigram(vocabulary);
    case TokenizerKind::kWordPiece:
      return make_word_piece(vocabulary);
  }
  return fail(Code::kInternal, "an unknown kind of tokenizer");
}

int byte_of_token(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  const int high = digit(text[3]);
  const int low = digit(text[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

std::array<TokenId, 256> byte_tokens(const Vocabulary& vocabulary) {
  std::array<TokenId, 256> ids;
  ids.fill(-1);
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const VocabularyToken& token = vocabulary.tokens[id];
    if (token.kind != TokenKind::kByte) continue;
    const int byte = byte_of_token(token.text);
    if (byte >= 0 && ids[static_cast<std::size_t>(byte)] < 0) {
      ids[static_cast<std::size_t>(byte)] = static_cast<TokenId>(id);
    }
  }
  return ids;
}

}  // namespace weir::text
