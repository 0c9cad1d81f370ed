#pragma once

/// Byte-level BPE (Radford et al. 2019, GPT-2): a piece is its bytes, merged by rank.

#include <memory>

#include "weir/text/piece_model.h"

namespace weir::text {

[[nodiscard]] Result<std::unique_ptr<PieceModel>> make_byte_bpe(const Vocabulary& vocabulary);

}  // namespace weir::text
