#include "weir/measure/roofline.h"

#include <algorithm>

#include "weir/base/check.h"
#include "weir/measure/summary.h"

namespace weir::measure {
namespace {

/// Nothing takes no time, even where the machine has no rate for it.
double seconds(double amount, double rate) { return amount > 0 ? amount / rate : 0; }

}  // namespace

Spread spread_of(std::vector<double> rates) {
  if (rates.empty()) return {};
  std::ranges::sort(rates);
  return {.best = rates.back(),
          .median = quantile(rates, 0.5),
          .p10 = quantile(rates, 0.1),
          .samples = rates.size()};
}

Work operator+(const Work& a, const Work& b) {
  return {a.bytes + b.bytes, a.int8_ops + b.int8_ops, a.bf16_ops + b.bf16_ops,
          a.f32_ops + b.f32_ops};
}

Work with_rows(const Work& one_row, double rows) {
  return {one_row.bytes, one_row.int8_ops * rows, one_row.bf16_ops * rows, one_row.f32_ops * rows};
}

double memory_seconds(const Work& work, const Roofs& roofs) {
  return seconds(work.bytes, roofs.bandwidth);
}

double compute_seconds(const Work& work, const Roofs& roofs) {
  return seconds(work.int8_ops, roofs.int8) + seconds(work.bf16_ops, roofs.bf16) +
         seconds(work.f32_ops, roofs.f32);
}

double least_seconds(const Work& work, const Roofs& roofs) {
  return std::max(memory_seconds(work, roofs), compute_seconds(work, roofs));
}

bool memory_bound(const Work& work, const Roofs& roofs) {
  return memory_seconds(work, roofs) > compute_seconds(work, roofs);
}

double attainable(const Work& work, const Roofs& roofs) {
  return work.operations() / least_seconds(work, roofs);
}

double crossover_rows(const Work& one_row, const Roofs& roofs) {
  const double each = compute_seconds(one_row, roofs);
  WEIR_CHECK(each > 0 && one_row.bytes > 0, "a row reads and computes something");
  return memory_seconds(one_row, roofs) / each;
}

double measured_crossover(double seconds_of_one, double seconds_of_many, double rows) {
  WEIR_CHECK(seconds_of_one > 0 && seconds_of_many > 0 && rows > 0, "times that were measured");
  return seconds_of_one / (seconds_of_many / rows);
}

double share_of(double sample, double roof_before, double roof_after) {
  return sample / ((roof_before + roof_after) / 2);
}

}  // namespace weir::measure
