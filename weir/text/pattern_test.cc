#include "weir/text/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::text {
namespace {

std::string first(std::string_view pattern, std::string_view text) {
  const auto p = Pattern::compile(pattern);
  if (!p) return "error: " + p.error().message;
  Pattern::Matcher m(*p);
  const auto match = m.find(text, 0);
  return match ? std::string(text.substr(match->begin, match->end - match->begin)) : "none";
}

TEST(Pattern, WhiteSpaceIsTheReferencesAndNotPcre2s) {
  EXPECT_EQ(first("\\s+", "a \u0085\u00A0\u2028\u3000b"), " \u0085\u00A0\u2028\u3000");
  EXPECT_EQ(first("\\s", "\u180E\u200B\uFEFF"), "none");
  EXPECT_EQ(first("[^\\s]+", "\u180E "), "\u180E");
  EXPECT_EQ(first("[\\S]+", " \u180E "), "\u180E");
}

TEST(Pattern, DigitsAreUnicodes) {
  EXPECT_EQ(first("\\d+", "x\u0663\u0664\u00B2"), "\u0663\u0664");
}

TEST(Pattern, CaseFoldsAsOnigurumaDoes) { EXPECT_EQ(first("(?i:'s)", "'\u017F"), "'\u017F"); }

TEST(Pattern, WhatPcre2WouldReadDifferentlyIsRefused) {
  for (const char* bad : {"\\bx", "[a[b]]", "[a&&b]", "[[:alpha:]]", "(?m:x)", "(", "[a", "\\"}) {
    EXPECT_THAT(first(bad, "x"), testing::HasSubstr("error")) << bad;
  }
}

TEST(Pattern, AHostilePatternGivesUpInsteadOfHanging) {
  EXPECT_EQ(first("(?:(?:(?:a+)+)+)+[bc]", std::string(5000, 'a') + "d"), "none");
}

}  // namespace
}  // namespace weir::text
