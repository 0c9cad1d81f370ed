#pragma once

/// Quantities whose dimension is a type: bytes over seconds is a bandwidth, and dollars do not add
/// to bytes. Values are kept in base units (bytes, seconds, operations, dollars), so GB and GiB are
/// two ways to write the same type and cannot be mixed up: only gigabytes() and gibibytes() make
/// one. Tokens, requests and replicas are plain counts; per second they are a Rate. Thread safety:
/// values.

#include <compare>

namespace weir::plan {

template <int kByte, int kSecond, int kOp, int kDollar>
struct Quantity {
  double value = 0;
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) { return value += other.value, *this; }
  constexpr Quantity& operator-=(Quantity other) { return value -= other.value, *this; }
  constexpr Quantity operator-() const { return {-value}; }
};

/// A quotient without dimension is a plain number.
template <int B, int S, int O, int D>
constexpr auto quantity(double value) {
  if constexpr (B == 0 && S == 0 && O == 0 && D == 0) {
    return value;
  } else {
    return Quantity<B, S, O, D>{value};
  }
}

template <int B, int S, int O, int D>
constexpr Quantity<B, S, O, D> operator+(Quantity<B, S, O, D> a, Quantity<B, S, O, D> b) {
  return {a.value + b.value};
}
template <int B, int S, int O, int D>
constexpr Quantity<B, S, O, D> operator-(Quantity<B, S, O, D> a, Quantity<B, S, O, D> b) {
  return {a.value - b.value};
}
template <int B, int S, int O, int D>
constexpr Quantity<B, S, O, D> operator*(Quantity<B, S, O, D> a, double k) {
  return {a.value * k};
}
template <int B, int S, int O, int D>
constexpr Quantity<B, S, O, D> operator*(double k, Quantity<B, S, O, D> a) {
  return {a.value * k};
}
template <int B, int S, int O, int D>
constexpr Quantity<B, S, O, D> operator/(Quantity<B, S, O, D> a, double k) {
  return {a.value / k};
}
template <int B, int S, int O, int D, int B2, int S2, int O2, int D2>
constexpr auto operator*(Quantity<B, S, O, D> a, Quantity<B2, S2, O2, D2> b) {
  return quantity<B + B2, S + S2, O + O2, D + D2>(a.value * b.value);
}
template <int B, int S, int O, int D, int B2, int S2, int O2, int D2>
constexpr auto operator/(Quantity<B, S, O, D> a, Quantity<B2, S2, O2, D2> b) {
  return quantity<B - B2, S - S2, O - O2, D - D2>(a.value / b.value);
}
template <int B, int S, int O, int D>
constexpr Quantity<-B, -S, -O, -D> operator/(double k, Quantity<B, S, O, D> a) {
  return {k / a.value};
}

using Bytes = Quantity<1, 0, 0, 0>;
using Seconds = Quantity<0, 1, 0, 0>;
using Rate = Quantity<0, -1, 0, 0>;  ///< Requests, tokens or queries a second.
using Bandwidth = Quantity<1, -1, 0, 0>;
using Ops = Quantity<0, 0, 1, 0>;  ///< Multiplications and additions, each counted.
using OpRate = Quantity<0, -1, 1, 0>;
using Dollars = Quantity<0, 0, 0, 1>;
using Price = Quantity<0, -1, 0, 1>;  ///< Dollars a second; prices are quoted by the hour.

constexpr Bytes bytes(double n) { return {n}; }
constexpr Bytes megabytes(double n) { return {n * 1e6}; }
constexpr Bytes gigabytes(double n) { return {n * 1e9}; }
constexpr Bytes gibibytes(double n) { return {n * 0x1p30}; }
constexpr Seconds in_seconds(double n) { return {n}; }
constexpr Seconds milliseconds(double n) { return {n * 1e-3}; }
constexpr Seconds microseconds(double n) { return {n * 1e-6}; }
constexpr Seconds hours(double n) { return {n * 3600}; }
constexpr Seconds days(double n) { return {n * 86400}; }
constexpr Seconds years(double n) { return days(n * 365); }
constexpr Rate per_second(double n) { return {n}; }
constexpr Rate per_day(double n) { return {n / 86400}; }
constexpr Bandwidth gigabytes_per_second(double n) { return {n * 1e9}; }
constexpr Bandwidth gigabits_per_second(double n) { return {n * 1e9 / 8}; }
constexpr Ops ops(double n) { return {n}; }
constexpr OpRate teraops_per_second(double n) { return {n * 1e12}; }
constexpr Dollars dollars(double n) { return {n}; }
constexpr Price dollars_per_hour(double n) { return {n / 3600}; }

}  // namespace weir::plan
