#pragma once

/// A row of logits with the largest of every block of them, found while the product that made the
/// block was still in a near cache: choosing a token then looks only into blocks that can matter.
/// What is left out is left out exactly: every sweep gives what it gives over the whole row.
/// Thread safety: a value of views; whoever made the row keeps it alive.

#include <cstddef>
#include <span>

#include "weir/base/math.h"
#include "weir/model/logit_scan.h"

namespace weir::model {

struct LogitRow {
  std::span<const float> logits;  ///< [vocabulary]
  /// [peak_blocks(vocabulary)] the largest of each block, NaN where one is NaN; empty when nobody
  /// has looked.
  std::span<const float> peaks{};

  [[nodiscard]] LogitMaximum maximum() const;
  /// The first token whose logit is `max`. REQUIRES: it is the maximum, and there is no NaN.
  [[nodiscard]] std::size_t find_maximum(float max) const;

  /// As collect() over the tokens [begin, end). REQUIRES: no NaN; begin is a multiple of
  /// kPeakBlock.
  std::size_t collect(std::size_t begin, std::size_t end, float low, float high,
                      Candidate* out) const;

  /// As sum_weights().
  void sum_weights(float max, float inverse_temperature, std::span<double> sums) const;
};

}  // namespace weir::model
