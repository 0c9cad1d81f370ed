#include "weir/cli/schedule_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string reserve_error(const std::vector<std::string>& texts) {
  const auto parsed = parse_reserve(texts);
  return parsed ? "parsed" : parsed.error().message;
}

TEST(ReserveFlag, GivesEachClassItsShare) {
  EXPECT_THAT(parse_reserve({"critical=10%", "standard=80%"})->percent, ElementsAre(0, 80, 10));
  EXPECT_TRUE(parse_reserve({})->empty());
}

TEST(ReserveFlag, SaysWhatIsWrong) {
  for (const char* text : {"critical", "critical=", "critical=10", "urgent=10%", "=10%", ""})
    EXPECT_THAT(reserve_error({text}), HasSubstr("critical=N% or standard=N%")) << text;
  for (const char* text : {"critical=%", "critical=91%", "critical=-1%", "critical=1.5%"})
    EXPECT_THAT(reserve_error({text}), HasSubstr("0% to 90%")) << text;
  EXPECT_THAT(reserve_error({"background=5%"}), HasSubstr("everyone may use"));
  EXPECT_THAT(reserve_error({"critical=5%", "critical=6%"}), HasSubstr("has a share already"));
  EXPECT_THAT(reserve_error({"critical=50%", "standard=41%"}), HasSubstr("together"));
}

std::string caps_error(std::string_view text) {
  const auto parsed = parse_length_caps(text);
  return parsed ? "parsed" : parsed.error().message;
}

TEST(LengthCapsFlag, BoundsEachLengthAndTheRest) {
  const auto groups = parse_length_caps("50=8,200=16,rest=32");
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->size(), 3U);
  EXPECT_EQ((*groups)[1].most_tokens, 200U);
  EXPECT_EQ((*groups)[1].most_running, 16U);
  EXPECT_EQ((*groups)[2].most_running, 32U);
  EXPECT_EQ(parse_length_caps("50=8")->back().most_running, 0xFFFFFFFFU);  // No bound.
  EXPECT_TRUE(parse_length_caps("")->empty());
}

TEST(LengthCapsFlag, SaysWhatIsWrong) {
  for (const char* text : {"50", "50=", "=8", "0=8", "50=0", "x=8", "50=8,,", "50=8x"})
    EXPECT_THAT(caps_error(text), HasSubstr("TOKENS=N or rest=N")) << text;
  for (const char* text : {"50=8,50=9", "50=8,40=9", "rest=1,50=8", "rest=1,rest=2"})
    EXPECT_THAT(caps_error(text), HasSubstr("ascend")) << text;
  EXPECT_THAT(caps_error("1=1,2=1,3=1,4=1,5=1,6=1,7=1,8=1"), HasSubstr("at most 8 groups"));
}

}  // namespace
}  // namespace weir::cli
