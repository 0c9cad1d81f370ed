#include "weir/text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/text/detokenizer.h"
#include "weir/text/testing_vocabularies.h"

namespace weir::text {
namespace {

using testing::ElementsAre;

std::unique_ptr<Tokenizer> make(Vocabulary v) {
  auto tokenizer = Tokenizer::create(std::move(v));
  if (!tokenizer) ADD_FAILURE() << tokenizer.error().message;
  return tokenizer ? *std::move(tokenizer) : nullptr;
}

/// The stored texts of what `text` becomes, joined by "|".
std::string pieces(const Tokenizer& t, std::string_view text, bool trusted = false) {
  std::string out;
  for (const TokenId id : t.encode(text, trusted, {.add_special = false})) {
    if (!out.empty()) out += '|';
    out += t.vocabulary().tokens[static_cast<std::size_t>(id)].text;
  }
  return out;
}

std::string round_trip(const Tokenizer& t, std::string_view text) {
  return t.decode(t.encode(text, false, {.add_special = false}));
}

TEST(ByteBpe, MergesByRankWithinThePiecesOfItsFamily) {
  const auto t =
      make(byte_bpe_vocabulary({{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"Ġ", "w"}, {"o", "Ġ"}}));
  EXPECT_EQ(pieces(*t, "hello world"), "hell|o|Ġw|o|r|l|d");  // "o " is never a piece.
}

TEST(ByteBpe, EveryByteComesBack) {
  const auto t = make(byte_bpe_vocabulary({{"a", "b"}}));
  std::string all;
  for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
  EXPECT_EQ(round_trip(*t, all), all);
  EXPECT_EQ(round_trip(*t,
                       "ab\xE4\xB8"
                       "ab\xFF"),
            "ab\xE4\xB8"
            "ab\xFF");
}

TEST(ByteBpe, ControlTokensAreReadOnlyInTrustedText) {
  const auto t = make(byte_bpe_vocabulary({}));
  EXPECT_EQ(pieces(*t, "a<|end|>", true), "a|<|end|>");
  EXPECT_EQ(pieces(*t, "a<|end|>", false), "a|<|||e|n|d|||>");
  const std::vector<Span> halves = {{"<|e", true}, {"nd|>", false}};
  EXPECT_EQ(t->encode(halves, {}).size(), 7U);  // Not across a border,
  const std::vector<Span> joined = {{"<|e", true}, {"nd|>", true}};
  EXPECT_EQ(t->encode(joined, {}).size(), 1U);  // unless both sides are trusted.
}

TEST(ByteBpe, UserDefinedTokensAreReadEverywhereButNeverEatAControlToken) {
  auto v = byte_bpe_vocabulary({});
  v.tokens.push_back({.text = "x<|", .kind = TokenKind::kUserDefined});
  const auto t = make(std::move(v));
  EXPECT_EQ(pieces(*t, "ax<|"), "a|x<|");
  const std::vector<Span> spans = {{"x", false}, {"<|end|>", true}};
  EXPECT_THAT(t->encode(spans, {}), ElementsAre(*t->find("x"), *t->find("<|end|>")));
}

TEST(ByteBpe, MergesCrossTheBordersOfSpans) {
  const auto t = make(byte_bpe_vocabulary({{"a", "b"}}));
  const std::vector<Span> spans = {{"a", false}, {"b", true}};
  EXPECT_THAT(t->encode(spans, {}), ElementsAre(*t->find("ab")));
}

TEST(ByteBpe, ALongRunOfOneCharacterIsEncodedInOneBreath) {
  const auto t = make(byte_bpe_vocabulary({{"a", "a"}, {"aa", "aa"}, {"Ġ", "Ġ"}, {"!", "!"}}));
  for (const char c : {'a', ' ', '!', '\n', '0', '\''}) {
    const std::string run(1 << 18, c);
    EXPECT_EQ(round_trip(*t, run), run);
    EXPECT_EQ(round_trip(*t, run + "x"), run + "x");
  }
}

TEST(ScoredBpe, TheBestScoreMergesFirstAndBytesStandInForTheRest) {
  const auto t = make(scored_vocabulary());
  EXPECT_EQ(pieces(*t, "hello"), "▁hello");
  EXPECT_EQ(pieces(*t, "hé"), "▁|h|<0xC3>|<0xA9>");
  EXPECT_EQ(round_trip(*t, "hello hé \xFF!"), "hello hé \xFF!");
  EXPECT_EQ(round_trip(*t, " hello"), " hello");
}

TEST(ScoredBpe, TheDummyPrefixIsDroppedOnlyFromTheFirstToken) {
  const auto t = make(scored_vocabulary());
  const TokenId hello = *t->find("▁hello");
  const std::vector<TokenId> twice = {*t->find("<s>"), hello, hello};
  EXPECT_EQ(t->decode(twice), "hello hello");
}

TEST(ScoredBpe, BosStandsBeforeTheTextWhenAsked) {
  const auto t = make(scored_vocabulary());
  EXPECT_THAT(t->encode("hello"), ElementsAre(*t->find("<s>"), *t->find("▁hello")));
}

TEST(Unigram, TheBestSumOfScoresWins) {
  const auto t = make(unigram_vocabulary());
  EXPECT_EQ(pieces(*t, "abc"), "ab|c");
  EXPECT_EQ(pieces(*t,
                   "a\xE4\xB8\xAD\xE4\xB8\xAD"
                   "b"),
            "a|<unk>|b");  // One unknown token for a run.
}

TEST(Unigram, SentencePieceSymbolsWinByTheirLengthInBytesWhateverTheirScore) {
  auto v = unigram_vocabulary();
  v.tokens.push_back({.text = "bc", .score = -50, .kind = TokenKind::kUserDefined});
  v.tokens.push_back({.text = "abcc", .score = -60, .kind = TokenKind::kUserDefined});
  v.tokens[5].text = "cb";
  v.symbols_by_score = true;
  const auto t = make(v);
  EXPECT_EQ(pieces(*t, "abc"), "a|bc");  // -2 + 0.1, and "ab" "c" is -5.
  EXPECT_EQ(pieces(*t, "abcc"), "abcc");
}

TEST(Unigram, SumsInSinglePrecisionStayFineHoweverLongTheText) {
  auto v = unigram_vocabulary();
  v.tokens[4].score = -4.05;  // "ab": 0.05 below "a" "b", and floats near 3e6 are 0.25 apart.
  v.symbols_by_score = true;
  const auto t = make(v);
  std::string text, want;
  for (int i = 0; i < 500'000; ++i) {
    text += "aab";
    want += "a|a|b|";
  }
  want.pop_back();
  EXPECT_TRUE(pieces(*t, text) == want);
}

TEST(WordPiece, LongestMatchOrUnknown) {
  const auto t = make(word_piece_vocabulary());
  EXPECT_EQ(pieces(*t, "Unwanted, r\xC3\xA9sum\xC3\xA9!"), "un|##want|##ed|,|resume|!");
  EXPECT_EQ(pieces(*t, "unwantedx"), "[UNK]");
  EXPECT_EQ(t->decode(t->encode("unwanted!")), "unwanted!");
}

TEST(Vocabulary, AFaultIsOneClearError) {
  const auto message = [](Vocabulary v) {
    const auto t = Tokenizer::create(std::move(v));
    return t ? std::string("none") : t.error().message;
  };
  EXPECT_THAT(message({}), testing::HasSubstr("no tokens"));
  EXPECT_THAT(message(byte_bpe_vocabulary({{"q", "zz"}}, false)),
              testing::HasSubstr("merge 0 ('q' + 'zz')"));
  auto v = byte_bpe_vocabulary({});
  v.eos = 1 << 20;
  EXPECT_THAT(message(v), testing::HasSubstr("eos"));
  v = scored_vocabulary();
  v.tokens[7].score = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message(v), testing::HasSubstr("token 7"));
  v = byte_bpe_vocabulary({});
  v.splits[0].pattern = "(";
  EXPECT_THAT(message(v), testing::HasSubstr("regular expression '('"));
}

TEST(Detokenizer, StreamsCharactersWholeAndEqualsDecode) {
  const auto t = make(scored_vocabulary());
  const auto ids = t->encode("hé\xF0\x9F\x91\x8D hello \xE4\xB8", false, {.add_special = false});
  Detokenizer d(*t, false);
  std::string all;
  for (const TokenId id : ids) {
    const std::string text = d.push(id);
    EXPECT_EQ(text.find("\xEF\xBF\xBD"), std::string::npos);
    all += text;
  }
  all += d.finish();
  EXPECT_EQ(all, "hé\xF0\x9F\x91\x8D hello \xEF\xBF\xBD");
}

TEST(Detokenizer, AfterTextTheFirstSpaceStays) {
  const auto t = make(scored_vocabulary());
  Detokenizer d(*t);
  EXPECT_EQ(d.push(*t->find("▁hello")), " hello");
}

}  // namespace
}  // namespace weir::text
