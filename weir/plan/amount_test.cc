#include "weir/plan/amount.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <type_traits>

namespace weir::plan {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };

TEST(Units, WhatDoesNotBelongTogetherDoesNotCompile) {
  static_assert(Addable<Bytes, Bytes>);
  static_assert(!Addable<Bytes, Seconds>);
  static_assert(!Addable<Bytes, double>);
  static_assert(!Addable<Dollars, Price>);
  static_assert(std::is_same_v<decltype(Bytes{} / Seconds{}), Bandwidth>);
  static_assert(std::is_same_v<decltype(Ops{} / OpRate{}), Seconds>);
  static_assert(std::is_same_v<decltype(Price{} * Seconds{}), Dollars>);
  static_assert(std::is_same_v<decltype(Bytes{} / Bytes{}), double>);
  static_assert(!std::is_convertible_v<double, Bytes>);
}

TEST(Units, AGibibyteIsNotAGigabyte) {
  EXPECT_EQ(gibibytes(80).value, 85'899'345'920);
  EXPECT_EQ(gigabytes(80).value, 80e9);
}

TEST(Amount, IsShownWithThreeDigitsAndItsUnit) {
  EXPECT_EQ(show(gigabytes(42.949)), "42.9 GB");
  EXPECT_EQ(show(bytes(327'680)), "328 kB");
  EXPECT_EQ(show(milliseconds(0.69)), "690 us");
  EXPECT_EQ(show(in_seconds(420)), "7 min");
  EXPECT_EQ(show(in_seconds(90)), "90 s");
  EXPECT_EQ(show(Seconds{}), "0 s");
  EXPECT_EQ(show(gigabytes_per_second(3350)), "3.35 TB/s");
  EXPECT_EQ(show(dollars(18.25e6)), "$18.3M");
  EXPECT_EQ(show(dollars(0.001)), "$0.001");
  EXPECT_EQ(show(dollars(1.2)), "$1.20");
  EXPECT_EQ(show(dollars(6307.2)), "$6,307");
  EXPECT_EQ(show(dollars_per_hour(2.5)), "$2.50/h");
  EXPECT_EQ(show(share(0.76923)), "76.9 %");
  EXPECT_EQ(show(factor(9.125)), "9.13x");
  EXPECT_EQ(show(count(131'072, "tokens")), "131,072 tokens");
  EXPECT_EQ(show(count(7.142857, "items")), "7.14 items");
  EXPECT_EQ(show(count(70.6e9, "")), "70.6B");
  EXPECT_EQ(show(count(1, "replicas")), "1 replica");
  EXPECT_EQ(show(rate(per_second(1000), "")), "1,000/s");
}

TEST(Amount, WhatHasNoBoundSaysSo) {
  EXPECT_EQ(show(Seconds{std::numeric_limits<double>::infinity()}), "unbounded");
  EXPECT_EQ(show(ratio(std::nan(""))), "none");
}

TEST(Amount, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(*parse_amount("80GB", Unit::kBytes), 80e9);
  EXPECT_EQ(*parse_amount("80 GiB", Unit::kBytes), 80 * 0x1p30);
  EXPECT_EQ(*parse_amount("0", Unit::kBytes), 0);
  EXPECT_EQ(*parse_amount("20ms", Unit::kSeconds), 0.02);
  EXPECT_EQ(*parse_amount("$2M", Unit::kDollars), 2e6);
  EXPECT_EQ(*parse_amount("$3600/h", Unit::kPrice), 1);
  EXPECT_EQ(*parse_amount("50/day", Unit::kRate), 50.0 / 86400);
  EXPECT_EQ(*parse_amount("100Gbit/s", Unit::kBandwidth), 12.5e9);
  EXPECT_EQ(*parse_amount("70.6B", Unit::kCount), 70.6e9);
  EXPECT_EQ(*parse_amount("90%", Unit::kFraction), 0.9);
  EXPECT_EQ(*parse_amount("-3", Unit::kCount), -3);
}

TEST(Amount, RefusesWhatItWouldHaveToGuess) {
  for (const char* text :
       {"80", "80G", "80 gb", "GB", "", "nan", "inf", "-inf", "1e999", "80GB80", "8 0 GBx"}) {
    const auto value = parse_amount(text, Unit::kBytes);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, Code::kInvalidArgument);
    EXPECT_NE(value.error().message.find("80GiB"), std::string::npos) << value.error().message;
  }
  EXPECT_FALSE(parse_amount("5", Unit::kSeconds));
  EXPECT_FALSE(parse_amount("1e300T", Unit::kCount));
}

}  // namespace
}  // namespace weir::plan
