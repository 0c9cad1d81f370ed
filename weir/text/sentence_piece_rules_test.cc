#include "weir/text/sentence_piece_rules.h"

#include <gtest/gtest.h>

namespace weir::text {
namespace {

// What SentencePiece itself makes of such texts is compared in tests/test_tokenizers.py.

SentencePieceRules rules(bool collapse, std::vector<std::string> kept = {}) {
  NormalizerStep step;
  step.kind = NormalizerStep::Kind::kSentencePiece;
  step.content = " ";
  step.collapse_spaces = collapse;
  step.kept = std::move(kept);
  return *SentencePieceRules::create(step);
}

TEST(SentencePieceRules, SpacesAtTheEndsAndAfterSpacesGo) {
  EXPECT_EQ(rules(true).apply("  a   b ", true), " a b");
  EXPECT_EQ(rules(true).apply("a \u2581 ", true), " a");
  EXPECT_EQ(rules(false).apply("  a   b ", true), "   a   b ");
}

TEST(SentencePieceRules, OnlyATextOfRemovedSpacesGetsNoPrefix) {
  EXPECT_EQ(rules(true).apply("   ", true), "");
  EXPECT_EQ(rules(false).apply("   ", true), "    ");
  EXPECT_EQ(rules(true).apply("a", false), "a");
}

TEST(SentencePieceRules, WhatIsKeptKeepsTheSpacesInsideIt) {
  const auto some = rules(true, {"a  b", "a", "  \n"});
  EXPECT_EQ(some.apply("a  b  a  c", true), " a  b a c");
  EXPECT_EQ(some.apply("x   \n", true), " x \n");  // Its leading ones follow a space.
}

TEST(SentencePieceRules, AMapThatIsCutShortIsRefused) {
  NormalizerStep step;
  step.kind = NormalizerStep::Kind::kSentencePiece;
  step.pattern = "abc";
  EXPECT_FALSE(SentencePieceRules::create(step));
}

}  // namespace
}  // namespace weir::text
