#include "weir/base/utf8.h"

#include <gtest/gtest.h>

namespace weir::utf8 {
namespace {

TEST(Utf8, EveryScalarValueRoundTrips) {
  for (std::uint32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string bytes;
    append(bytes, c);
    const Decoded d = decode(bytes, 0);
    ASSERT_TRUE(d.valid) << c;
    ASSERT_EQ(d.code_point, c);
    ASSERT_EQ(d.size, bytes.size());
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      ASSERT_EQ(unfinished_tail(bytes.substr(0, cut)), cut) << c;
    }
    ASSERT_EQ(unfinished_tail(bytes), 0U);
  }
}

TEST(Utf8, SurrogatesOverlongFormsAndStrayBytesAreInvalid) {
  for (std::string_view bad : {"\xED\xA0\x80", "\xC0\x80", "\xE0\x80\x80", "\xF0\x80\x80\x80",
                               "\xF4\x90\x80\x80", "\x80", "\xFF", "\xF5\x80\x80\x80"}) {
    EXPECT_EQ(find_invalid(bad), 0U) << testing::PrintToString(bad);
    EXPECT_EQ(unfinished_tail(bad), 0U) << testing::PrintToString(bad);
  }
  EXPECT_EQ(find_invalid("abc\xE2\x82"), 3U);
  EXPECT_EQ(find_invalid("a\xE2\x82\xAC"), std::string_view::npos);
}

TEST(Utf8, AMaximalInvalidSubpartBecomesOneReplacement) {
  // The example of Unicode 15, table 3-8.
  EXPECT_EQ(sanitize("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a\uFFFD\uFFFD\uFFFD"
            "b\uFFFD"
            "c\uFFFD\uFFFD"
            "d");
}

}  // namespace
}  // namespace weir::utf8
