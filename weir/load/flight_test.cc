#include "weir/load/flight.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weir/measure/slo.h"

namespace weir::load {
namespace {

using measure::Outcome;
using std::chrono::milliseconds;

std::string chunk(std::string_view text) {
  return fmt::format("{:x}\r\n{}\r\n", text.size(), text);
}
std::string event(std::string_view data) { return chunk(fmt::format("data: {}\n\n", data)); }

const std::string kHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string kRole =
    event(R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})");
const std::string kWord =
    event(R"({"choices":[{"index":0,"delta":{"content":" word"}}],"usage":null})");
const std::string kUsage = event(
    R"({"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8}}})");
const std::string kDone = event("[DONE]") + chunk("");

/// Feeds (milliseconds, bytes) pairs.
class Script {
 public:
  explicit Script(FlightSpec spec = {}) : flight(spec) {}
  Script& at(int ms, std::string_view bytes) {
    flight.feed(bytes, milliseconds(ms));
    return *this;
  }
  Flight flight;
};

TEST(Flight, InstantsAreThoseOfTheReads) {
  Script s;
  s.at(5, kHead)
      .at(10, kRole)
      .at(50, kWord)
      .at(60, kWord)
      .at(95, kWord)
      .at(96, kUsage)
      .at(97, kDone);
  const auto& r = s.flight.record();
  EXPECT_EQ(r.outcome, Outcome::kCompleted);
  EXPECT_EQ(r.first_token, milliseconds(50)) << "a chunk with only a role is no token";
  EXPECT_EQ(r.last_token, milliseconds(95));
  EXPECT_EQ(r.done, milliseconds(97));
  EXPECT_EQ(r.gaps, (std::vector<Duration>{milliseconds(10), milliseconds(35)}));
  EXPECT_EQ(r.pieces, 3U);
  EXPECT_EQ(r.prompt_tokens, 11U);
  EXPECT_EQ(r.completion_tokens, 3U);
  EXPECT_EQ(r.cached_tokens, 8U);
  EXPECT_DOUBLE_EQ(measure::tpot_ms(r).value(), 22.5);
  EXPECT_TRUE(s.flight.keeps_connection());
}

TEST(Flight, AnAnswerIsTheSameHoweverItsBytesAreCut) {
  const std::string all = kHead + kRole + kWord + kWord + kUsage + kDone;
  for (const std::size_t step : {1U, 2U, 5U, 17U, 64U}) {
    Script s({.keep_text = true});
    for (std::size_t at = 0; at < all.size(); at += step) s.at(1, all.substr(at, step));
    EXPECT_EQ(s.flight.record().outcome, Outcome::kCompleted);
    EXPECT_EQ(s.flight.record().pieces, 2U);
    EXPECT_EQ(s.flight.text(), " word word");
  }
}

TEST(Flight, TokensWithoutUsageAreCountedAsPieces) {
  Script s;
  s.at(1, kHead).at(2, kWord).at(3, kWord).at(4, kDone);
  EXPECT_FALSE(s.flight.record().usage_told);
  EXPECT_EQ(s.flight.record().completion_tokens, 2U);
}

TEST(Flight, AStreamThatEndsWithoutDoneIsBroken) {
  Script whole;
  whole.at(1, kHead).at(2, kWord).at(3, chunk(""));
  EXPECT_EQ(whole.flight.record().outcome, Outcome::kBroken);
  Script cut;
  cut.at(1, kHead).at(2, kWord);
  cut.flight.cut(milliseconds(3), "reset");
  EXPECT_EQ(cut.flight.record().outcome, Outcome::kBroken);
  EXPECT_FALSE(cut.flight.keeps_connection());
}

TEST(Flight, AnErrorInTheStreamIsAnError) {
  Script s;
  s.at(1, kHead).at(2, kWord).at(
      3, event(R"({"error":{"message":"the model broke","code":500}})") + kDone);
  EXPECT_EQ(s.flight.record().outcome, Outcome::kError);
  EXPECT_EQ(s.flight.record().detail, "the model broke");
}

TEST(Flight, AStatusCarriesItsMessage) {
  Script s;
  s.at(1,
       "HTTP/1.1 429 Busy\r\nContent-Length: 34\r\n\r\n{\"error\":{\"message\":\"queue full\"}}");
  EXPECT_EQ(s.flight.record().outcome, Outcome::kStatus);
  EXPECT_EQ(s.flight.record().status, 429);
  EXPECT_EQ(s.flight.record().detail, "queue full");
  EXPECT_TRUE(s.flight.keeps_connection());
}

TEST(Flight, WithoutAnAnswerThereWasNoConnection) {
  Script s;
  s.flight.cut(milliseconds(1), "refused");
  EXPECT_EQ(s.flight.record().outcome, Outcome::kNoConnect);
}

TEST(Flight, AnEmbeddingIsTimedWhole) {
  Script s({.streamed = false});
  const std::string body = R"({"data":[{"embedding":[0.1]}],"usage":{"prompt_tokens":9}})";
  s.at(4, fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.size())).at(9, body);
  EXPECT_EQ(s.flight.record().outcome, Outcome::kCompleted);
  EXPECT_EQ(s.flight.record().first_token, milliseconds(9));
  EXPECT_EQ(s.flight.record().prompt_tokens, 9U);
}

TEST(Events, TextIsFoundAndNotMistaken) {
  EXPECT_TRUE(holds_text(R"({"choices":[{"delta":{"content":"a"}}]})"));
  EXPECT_TRUE(holds_text(R"({"choices": [{"delta": {"content": "a"}}]})"));
  EXPECT_TRUE(holds_text(R"({"choices":[{"text":"\n"}]})"));
  EXPECT_TRUE(holds_text(R"({"choices":[{"delta":{"content":null,"reasoning_content":"hm"}}]})"));
  EXPECT_TRUE(holds_text(R"({"choices":[{"delta":{"tool_calls":[{"index":0}]}}]})"));
  EXPECT_FALSE(holds_text(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})"));
  EXPECT_FALSE(holds_text(R"({"choices":[{"delta":{"content":null}}]})"));
  EXPECT_FALSE(holds_text(R"({"choices":[{"delta":{},"finish_reason":"length"}]})"));
  // A member's name inside a string has its quotes escaped.
  EXPECT_FALSE(holds_text(R"({"id":"\"content\":\"x","choices":[{"delta":{"content":""}}]})"));
}

TEST(Events, UsageMayBeAnything) {
  EXPECT_FALSE(usage_of(R"({"usage":null})"));
  EXPECT_FALSE(usage_of(R"({"usage":{"prompt_tokens":)"));
  EXPECT_EQ(usage_of(R"({"usage":{"prompt_tokens":-5}})")->prompt_tokens, 0U);
  EXPECT_EQ(usage_of(R"({"usage":{"prompt_tokens":"many"}})")->prompt_tokens, 0U);
  EXPECT_EQ(
      usage_of(R"({"usage":{"prompt_tokens":3e9,"prompt_tokens_details":null}})")->prompt_tokens,
      2147483647U);
}

TEST(Events, CommentsAndOtherFieldsAreSkipped) {
  EventReader reader;
  std::string_view bytes = ": ping\r\nevent: x\r\ndata:{\"a\":1}\r\n\r\ndata: two\n";
  EXPECT_EQ(reader.next(bytes)->value(), "{\"a\":1}");
  EXPECT_EQ(reader.next(bytes)->value(), "two");
  EXPECT_FALSE(reader.next(bytes)->has_value());
}

TEST(Events, AnEventWithoutEndIsTooLarge) {
  EventReader reader;
  const std::string many(std::size_t{3} << 20, 'x');
  std::string_view bytes = many;
  EXPECT_TRUE(reader.next(bytes));
  bytes = many;
  EXPECT_EQ(reader.next(bytes).error().code, Code::kTooLarge);
}

}  // namespace
}  // namespace weir::load
