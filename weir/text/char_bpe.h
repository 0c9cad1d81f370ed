#pragma once

/// BPE over characters with byte fallback, in both of its forms: SentencePiece's, where any two
/// neighbours that together are a token merge, best score first; and tokenizer.json's, by the rank
/// of a merge list. Both become one MergeTable.
///
/// A long text falls apart where no token holds the two characters on both sides next to each
/// other, since no merge can cross such a place; pieces stay short even without a pre-tokenizer.

#include <memory>

#include "weir/text/piece_model.h"

namespace weir::text {

[[nodiscard]] Result<std::unique_ptr<PieceModel>> make_char_bpe(const Vocabulary& vocabulary);

}  // namespace weir::text
