#include "weir/engine/request_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::engine {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kContext = 1000;
constexpr RequestCaps kCaps{100, 50};

DecoderFacts facts() {
  DecoderFacts f;
  f.vocabulary = 10;
  return f;
}

Request of(std::size_t prompt, std::uint32_t max_tokens) {
  Request r;
  r.prompt.assign(prompt, 1);
  r.max_tokens = max_tokens;
  return r;
}

TEST(RequestCaps, OfNothingLeaveWhatTheContextHolds) {
  Request r = of(900, 0);
  ASSERT_TRUE(check_request(r, facts(), kContext));
  EXPECT_EQ(r.max_tokens, 100U);
}

TEST(RequestCaps, APromptOverItsCapIsToldBothLengths) {
  Request fits = of(100, 1);
  EXPECT_TRUE(check_request(fits, facts(), kContext, kCaps));
  Request r = of(101, 1);
  const Status checked = check_request(r, facts(), kContext, kCaps);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::kContextLength);
  EXPECT_THAT(checked.error().message, HasSubstr("at most 100 tokens of input"));
  EXPECT_THAT(checked.error().message, HasSubstr("101 tokens"));
}

TEST(RequestCaps, AnAnswerOverItsCapIsRefusedAndOneOfNoLengthGetsTheCap) {
  Request r = of(10, 51);
  const Status checked = check_request(r, facts(), kContext, kCaps);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::kInvalidArgument);
  EXPECT_EQ(checked.error().subject, "max_tokens");
  EXPECT_THAT(checked.error().message, HasSubstr("max_tokens is 51"));
  Request open = of(10, 0);
  ASSERT_TRUE(check_request(open, facts(), kContext, kCaps));
  EXPECT_EQ(open.max_tokens, 50U);
  Request near_the_end = of(90, 0);
  ASSERT_TRUE(check_request(near_the_end, facts(), 100, kCaps));
  EXPECT_EQ(near_the_end.max_tokens, 10U);
}

}  // namespace
}  // namespace weir::engine
