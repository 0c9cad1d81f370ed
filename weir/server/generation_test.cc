#include "weir/server/generation.h"

#include <gtest/gtest.h>

#include <random>

#include "weir/base/utf8.h"
#include "weir/server/test_vocabulary.h"

namespace weir::server {
namespace {

class GenerationTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(tokenizer_); }

  struct Outcome {
    std::string text;
    std::string bytes;  // Of all entries.
    std::vector<std::size_t> offsets;
    std::uint64_t tokens = 0;
    bool stopped = false;
    bool operator==(const Outcome&) const = default;
  };

  // The answer made of `ids`, cut into steps drawn from seed (0: one token a step).
  Outcome run(const std::vector<TokenId>& ids, const std::vector<std::string>& stops,
              unsigned seed = 0, bool logprobs = true) {
    auto generation = Generation::create(*tokenizer_, stops, logprobs);
    EXPECT_TRUE(generation.has_value());
    Outcome outcome;
    const auto add = [&](const Generation::Delta& delta) {
      EXPECT_EQ(utf8::find_invalid(delta.text), std::string::npos) << "a broken character came out";
      outcome.text += delta.text;
      for (const auto& entry : delta.entries) {
        outcome.bytes += entry.token.bytes;
        outcome.offsets.push_back(entry.text_offset);
      }
    };
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < ids.size() && !generation->stopped();) {
      std::vector<engine::TokenEvent> step;
      const std::size_t size = seed == 0 ? 1 : random() % 6;
      for (std::size_t j = 0; j < size && i < ids.size(); ++j)
        step.push_back({ids[i++], -1.0F, {}});
      add(generation->push(step));
    }
    add(generation->finish());
    outcome.tokens = generation->tokens();
    outcome.stopped = generation->stopped();
    return outcome;
  }
  Outcome say(std::string_view text, const std::vector<std::string>& stops = {}) {
    return run(tokenizer_->encode(text), stops);
  }

  const std::shared_ptr<const text::Tokenizer> tokenizer_ = test_tokenizer();
};

TEST_F(GenerationTest, TextComesOutAsItWentIn) {
  const std::string text = "hello \xF0\x9F\x98\x80 h\xC3\xA9llo";
  const auto outcome = say(text);
  EXPECT_EQ(outcome.text, text);
  EXPECT_EQ(outcome.bytes, text);
  EXPECT_FALSE(outcome.stopped);
}

TEST_F(GenerationTest, AStopStringInsideAndAcrossTokensIsNeverShown) {
  const auto across = say("hello STOP more", {"STOP"});
  EXPECT_EQ(across.text, "hello ");
  EXPECT_EQ(across.bytes, "hello ");
  EXPECT_TRUE(across.stopped);
  const auto inside = say("hello you", {"ell"});
  EXPECT_EQ(inside.text, "h");
  EXPECT_EQ(inside.bytes, "h") << "the token that holds the stop string ends where the text does";
  const auto unfinished = say("hello STO", {"STOP"});
  EXPECT_EQ(unfinished.text, "hello STO") << "what only looked like one is shown in the end";
}

TEST_F(GenerationTest, TokensAfterTheStopAreNotCounted) {
  const auto ids = tokenizer_->encode("1234567890");
  EXPECT_EQ(run(ids, {"4"}).tokens, 4U);
  EXPECT_EQ(run(ids, {"4"}, 3).tokens, 4U);
}

TEST_F(GenerationTest, OffsetsCountCharacters) {
  const auto outcome = run(tokenizer_->encode("\xC3\xA9"
                                              "1"),
                           {});
  EXPECT_EQ(outcome.offsets, (std::vector<std::size_t>{0, 1, 1}));
}

TEST_F(GenerationTest, ControlTokensAreNotText) {
  const auto end = *tokenizer_->find(kTurnEnds);
  EXPECT_EQ(run({'a', end, 'b'}, {}).text.size(), 2U);
}

TEST_F(GenerationTest, WithoutLogprobsNothingIsRemembered) {
  EXPECT_TRUE(run(tokenizer_->encode("hello"), {}, 0, false).bytes.empty());
}

TEST_F(GenerationTest, TheAnswerDoesNotDependOnHowItWasCut) {
  std::mt19937 random(20261129);
  const auto shown = static_cast<TokenId>(tokenizer_->size());
  for (int round = 0; round < 400; ++round) {
    std::vector<TokenId> ids(random() % 60);
    for (auto& id : ids) {
      // Mostly a few letters, so that stop strings occur; sometimes anything, invalid UTF-8
      // included.
      id = random() % 4 != 0 ? static_cast<TokenId>("ab \xC3\xA9STOP"[random() % 9] & 0xFF)
                             : static_cast<TokenId>(random() % static_cast<unsigned>(shown));
    }
    const std::vector<std::string> stops =
        round % 3 == 0 ? std::vector<std::string>{}
                       : std::vector<std::string>{"STOP", "aba", "b b", "\xC3\xA9"};
    const auto whole = run(ids, stops);
    for (const auto& stop : stops) EXPECT_EQ(whole.text.find(stop), std::string::npos) << round;
    for (unsigned seed = 1; seed < 5; ++seed)
      EXPECT_EQ(run(ids, stops, seed), whole) << round << ' ' << seed;
    std::string all;
    for (const auto id : ids) all += tokenizer_->bytes(id);
    if (utf8::find_invalid(all) == std::string::npos) {
      EXPECT_EQ(whole.bytes, whole.text) << round;
    }
  }
}

}  // namespace
}  // namespace weir::server
