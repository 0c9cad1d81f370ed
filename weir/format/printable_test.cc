#include "weir/format/printable.h"

#include <gtest/gtest.h>

namespace weir::format {
namespace {

TEST(Printable, ControlCharactersNeverReachATerminal) {
  EXPECT_EQ(printable("a\x1b[31m\n\t\r\x7f"), "a\\x1b[31m\\n\\t\\x0d\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m")
      << "C1 controls are escapes too";
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, OtherTextStaysAndInvalidUtf8IsReplaced) {
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f \xe6\xb0\xb4"), "gr\xc3\xbc\xc3\x9f \xe6\xb0\xb4");
  EXPECT_EQ(printable("a\xff"
                      "b"),
            "a\xef\xbf\xbd"
            "b");
}

TEST(Printable, LongTextIsCut) {
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(in_quotes("x"), "'x'");
}

}  // namespace
}  // namespace weir::format
