#pragma once

/// The one input type of a forward pass: rows of several sequences, prefill and decode mixed, each
/// with the pages that hold (or will hold) its keys and values.
/// Thread safety: a value of views; the caller keeps what they view alive for the call.

#include <cstdint>
#include <span>

#include "weir/base/ids.h"

namespace weir::model {

struct SequenceRows {
  std::span<const TokenId> tokens;  ///< This step's rows: one for decode, a chunk for prefill.
  std::uint32_t first_position =
      0;  ///< Position of tokens[0]; all before it are already in the arena.
  /// Cover positions 0 .. first_position + tokens.size() - 1. Those that the rows are written to
  /// are of no other sequence of the step.
  std::span<const PageId> pages;
  std::uint32_t logit_rows = 0;  ///< Logits for the last `logit_rows` rows; 0 in mid-prompt.
};

struct Batch {
  std::span<const SequenceRows> sequences;
};

}  // namespace weir::model
