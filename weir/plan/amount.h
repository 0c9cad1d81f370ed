#pragma once

/// A number with its unit, and both directions of writing it: for people ("42.9 GB", "1.58 ms") and
/// from people ("80GiB", "20 ms", "$2.5/h", "100 Gbit/s"). GB is 10^9 bytes and GiB is 2^30, a unit
/// is never guessed, and nothing is shown with more digits than its inputs carry (three, unless it
/// is a whole count). Thread safety: pure functions.

#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/plan/units.h"

namespace weir::plan {

enum class Unit : unsigned char {
  kNone,      ///< A ratio or a factor.
  kCount,     ///< Whole things, named by `of`: "replicas", "tokens", "requests".
  kFraction,  ///< Shown as a percentage.
  kFactor,    ///< Shown as "9.1x".
  kBytes,
  kSeconds,
  kRate,
  kBandwidth,
  kOps,
  kOpRate,
  kDollars,
  kPrice,  ///< Dollars an hour, kept a second.
};

struct Amount {
  double value = 0;
  Unit unit = Unit::kNone;
  std::string of;  ///< What is counted, for kCount and kRate.

  Amount() = default;
  Amount(double v, Unit u, std::string what = {}) : value(v), unit(u), of(std::move(what)) {}
  Amount(Bytes q) : value(q.value), unit(Unit::kBytes) {}          // NOLINT
  Amount(Seconds q) : value(q.value), unit(Unit::kSeconds) {}      // NOLINT
  Amount(Bandwidth q) : value(q.value), unit(Unit::kBandwidth) {}  // NOLINT
  Amount(Ops q) : value(q.value), unit(Unit::kOps) {}              // NOLINT
  Amount(OpRate q) : value(q.value), unit(Unit::kOpRate) {}        // NOLINT
  Amount(Dollars q) : value(q.value), unit(Unit::kDollars) {}      // NOLINT
  Amount(Price q) : value(q.value), unit(Unit::kPrice) {}          // NOLINT
};

[[nodiscard]] inline Amount count(double n, std::string of) {
  return {n, Unit::kCount, std::move(of)};
}
[[nodiscard]] inline Amount share(double fraction) { return {fraction, Unit::kFraction}; }
[[nodiscard]] inline Amount factor(double times) { return {times, Unit::kFactor}; }
[[nodiscard]] inline Amount ratio(double value) { return {value, Unit::kNone}; }
[[nodiscard]] inline Amount rate(Rate r, std::string of) {
  return {r.value, Unit::kRate, std::move(of)};
}

/// "42.9 GB", "13 replicas", "76.9 %", "9.13x", "1.58 ms", "$18.3M".
[[nodiscard]] std::string show(const Amount& amount);

/// Only the number of show(), for a column whose unit stands in its heading: 0.0158, 13, 76.9.
[[nodiscard]] std::string show_number(double value);

/// "B", "s", "tokens/s": the base unit that `value` is in, for programs.
[[nodiscard]] std::string base_unit(const Amount& amount);

/// The other way. Code::kInvalidArgument with the accepted forms when `text` is not one number with
/// a unit of that kind. Bytes, times and bandwidths need their unit unless they are 0; counts take
/// k, M, B, T (powers of ten); fractions take a % sign. Never NaN or infinite.
[[nodiscard]] Result<double> parse_amount(std::string_view text, Unit unit);

}  // namespace weir::plan
