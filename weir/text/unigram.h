#pragma once

/// SentencePiece's unigram model (Kudo 2018): the segmentation with the best sum of scores, by
/// Viterbi; O(n * longest token). Of equal sums the one found first stays, as in SentencePiece.

#include <memory>

#include "weir/text/piece_model.h"

namespace weir::text {

[[nodiscard]] Result<std::unique_ptr<PieceModel>> make_unigram(const Vocabulary& vocabulary);

}  // namespace weir::text
