#include "weir/base/bytes.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Bytes, ThreeSignificantDigitsAndDecimalUnits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(98362432), "98.4 MB");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(999999), "1.00 MB");
  EXPECT_EQ(format_bytes(~0ULL), "18.4 EB");
}

TEST(Bytes, DecimalAndBinaryUnitsAreToldApart) {
  EXPECT_EQ(parse_bytes("2GiB").value(), 2ULL << 30);
  EXPECT_EQ(parse_bytes("2 GB").value(), 2000000000ULL);
  EXPECT_EQ(parse_bytes("1.5g").value(), 3ULL << 29);
  EXPECT_EQ(parse_bytes("1000000").value(), 1000000ULL);
}

TEST(Bytes, WhatIsNoSizeIsRefused) {
  for (const char* bad : {"", "GiB", "-1", "1 furlong", "nan", "inf", "1e30", "0x10", "1GiBB"}) {
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  }
}

}  // namespace
}  // namespace weir
