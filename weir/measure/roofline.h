#pragma once

/// The arithmetic of the roofline (Williams, Waterman and Patterson, "Roofline: an insightful
/// visual performance model", CACM 2009): work against the roofs of a machine, what bounds it, and
/// the batch at which decode stops being bound by memory. Rates are a second's; bytes, operations
/// (a multiplication and an addition are two). Thread safety: pure functions.

#include <cstddef>
#include <vector>

namespace weir::measure {

/// Rates of the same thing, sampled. Of a noisy machine the best is nearest to what its hardware
/// can do, the median to what one gets; nine in ten samples are at least p10.
struct Spread {
  double best = 0, median = 0, p10 = 0;
  std::size_t samples = 0;  ///< All fields are 0 when it is.

  /// One rate for all: of undisturbed samples the median, else the best, which was disturbed least.
  [[nodiscard]] double typical(bool undisturbed) const { return undisturbed ? median : best; }
};
[[nodiscard]] Spread spread_of(std::vector<double> rates);

struct Roofs {
  double bandwidth = 0;  ///< Bytes.
  double int8 = 0;       ///< Operations, by what is multiplied.
  double bf16 = 0;
  double f32 = 0;
};

/// What a kernel or a step does.
struct Work {
  double bytes = 0;     ///< Of weights or KV, each read once.
  double int8_ops = 0;  ///< By quantised weights.
  double bf16_ops = 0;  ///< By BF16 weights, keys and values, where the CPU has dots for them.
  double f32_ops = 0;   ///< By other plain ones.

  [[nodiscard]] double operations() const { return int8_ops + bf16_ops + f32_ops; }
  [[nodiscard]] double intensity() const { return operations() / bytes; }  ///< REQUIRES: bytes > 0.
};
[[nodiscard]] Work operator+(const Work& a, const Work& b);
/// `rows` times the operations over the same bytes: a batch reads the weights once.
[[nodiscard]] Work with_rows(const Work& one_row, double rows);

[[nodiscard]] double memory_seconds(const Work& work, const Roofs& roofs);
[[nodiscard]] double compute_seconds(const Work& work, const Roofs& roofs);
/// The least time the roofs allow: the longer of the two, which then bounds it.
[[nodiscard]] double least_seconds(const Work& work, const Roofs& roofs);
[[nodiscard]] bool memory_bound(const Work& work, const Roofs& roofs);
/// Operations a second under the roofs.
[[nodiscard]] double attainable(const Work& work, const Roofs& roofs);

/// Rows at which computing takes as long as reading: M* = (bits a weight / 16) x (P / BW) for one
/// kind of weights. REQUIRES: of one row; some bytes and operations.
[[nodiscard]] double crossover_rows(const Work& one_row, const Roofs& roofs);

/// The same from two measured times: where the flat line of one row's time meets the sloped one
/// through the time of `rows` rows. REQUIRES: positive times and rows.
[[nodiscard]] double measured_crossover(double seconds_of_one, double seconds_of_many, double rows);

/// What a sample came to of the roof as it was right before and right after.
/// REQUIRES: positive roofs.
[[nodiscard]] double share_of(double sample, double roof_before, double roof_after);

}  // namespace weir::measure
