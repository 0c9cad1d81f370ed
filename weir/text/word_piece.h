#pragma once

/// WordPiece (BERT): a word is its longest token, then the longest continuation, and so on; a word
/// that cannot be written whole, or is too long, is one unknown token.

#include <memory>

#include "weir/text/piece_model.h"

namespace weir::text {

[[nodiscard]] Result<std::unique_ptr<PieceModel>> make_word_piece(const Vocabulary& vocabulary);

}  // namespace weir::text
