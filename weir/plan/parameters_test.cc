#include "weir/plan/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/plan/ask_test.h"
#include "weir/plan/nearest.h"

namespace weir::plan {
namespace {

using testing::HasSubstr;

TEST(Parameters, AnUnknownNameOffersTheNearest) {
  EXPECT_THAT(refusal_of("fit", {{"model", "llama-3-70b"}, {"device", "h1000"}}),
              HasSubstr("did you mean 'h100'?"));
  EXPECT_THAT(refusal_of("fit", {{"model", "lama3-70b"}}),
              HasSubstr("did you mean 'llama-3-70b'?"));
  EXPECT_THAT(refusal_of("fit", {{"modle", "llama-3-70b"}}), HasSubstr("did you mean 'model'?"));
  EXPECT_THAT(refusal_of("fitt", {}), HasSubstr("did you mean 'fit'?"));
  EXPECT_THAT(refusal_of("fit", {{"model", "llama-3-70b"}, {"weights", "int44"}}),
              HasSubstr("did you mean 'int4'?"));
}

TEST(Parameters, WhatIsOutOfRangeSaysTheRange) {
  EXPECT_THAT(refusal_of("fit", {{"model", "llama-3-70b"}, {"device", "h100"}, {"devices", "-3"}}),
              HasSubstr("--devices is -3, but must be from 1 to 1000000"));
  EXPECT_THAT(refusal_of("fit", {{"model", "llama-3-70b"}, {"device", "h100"}, {"devices", "0"}}),
              HasSubstr("from 1"));
  EXPECT_THAT(refusal_of("fit", {{"model", "llama-3-70b"}, {"device", "h100"}, {"devices", "1.5"}}),
              HasSubstr("whole number"));
  EXPECT_THAT(refusal_of("fit", {{"model", "llama-3-70b"}, {"pool-fraction", "1.2"}}),
              HasSubstr("from 1 % to 100 %"));
  EXPECT_THAT(refusal_of("fleet", {{"rate", "nan"}}), HasSubstr("'nan' is not understood"));
  EXPECT_THAT(refusal_of("fleet", {{"rate", "1e400"}}), HasSubstr("not understood"));
  EXPECT_THAT(refusal_of("fleet", {{"rate", "1e30"}}), HasSubstr("must be from"));
}

TEST(Parameters, WhatIsMissingOrEmptySaysWhatItIs) {
  EXPECT_THAT(refusal_of("fit", {}), HasSubstr("--model is needed: A model of the registry"));
  EXPECT_THAT(refusal_of("fleet", {{"rate", ""}}), HasSubstr("--rate is empty"));
}

TEST(Parameters, ListsAndPairsAreCheckedOneByOne) {
  EXPECT_THAT(refusal_of("batch", {{"lengths", "50,-1"}}), HasSubstr("--lengths is -1"));
  EXPECT_THAT(refusal_of("batch", {{"lengths", "50,,1"}}), HasSubstr("not understood"));
  EXPECT_THAT(refusal_of("tenants", {{"capacity", "1"}, {"demands", "a"}}),
              HasSubstr("NAME=VALUE"));
  EXPECT_THAT(refusal_of("tenants", {{"capacity", "1"}, {"demands", "a=1,b=x"}}),
              HasSubstr("'x' is not understood"));
}

TEST(Parameters, WhatContradictsItselfIsRefused) {
  EXPECT_THAT(refusal_of("batch", {{"fixed", "1ms"}}), HasSubstr("go together"));
  EXPECT_THAT(refusal_of("batch", {}), HasSubstr("--measured"));
  EXPECT_THAT(refusal_of("batch", {{"measured", "32=5ms,1=25ms"}}), HasSubstr("rise"));
  EXPECT_THAT(refusal_of("batch", {{"measured", "1=25ms,32=5ms"}}), HasSubstr("must take longer"));
  EXPECT_THAT(
      refusal_of("cost",
                 {{"rate", "1"}, {"users", "5"}, {"per-user", "1/day"}, {"per-request", "1"}}),
      HasSubstr("either"));
  EXPECT_THAT(refusal_of("fit", {{"model", "llama-3-70b"}, {"devices", "8"}}),
              HasSubstr("name the --device"));
  EXPECT_THAT(refusal_of("shard", {{"model", "llama-3-70b"}}), HasSubstr("go together"));
  EXPECT_THAT(refusal_of("speculate",
                         {{"model", "llama-3-8b"}, {"draft", "llama-3-70b"}, {"device", "h100"}}),
              HasSubstr("is larger than"));
  EXPECT_THAT(refusal_of("quantize", {{"rotate", "1,2,3"}}), HasSubstr("1, 2, 4, 8"));
  EXPECT_THAT(refusal_of("cascade", {{"candidates", "a=10,b=100"}, {"times", "a=1ms,b=1ms"}}),
              HasSubstr("more candidates"));
  EXPECT_THAT(refusal_of("scale", {{"day", "6=1,0=2"}}), HasSubstr("rising hours"));
  EXPECT_THAT(refusal_of("tenants", {{"capacity", "1"}, {"demands", "a=1"}, {"weights", "b=2"}}),
              HasSubstr("'b' has no demand"));
}

TEST(Nearest, ForgivesSlipsButNotEverything) {
  const std::vector<std::string> names = {"a100", "h100", "mi300x", "llama-3-70b"};
  EXPECT_EQ(nearest("H100", names), "h100");
  EXPECT_EQ(nearest("h010", names), "h100");
  EXPECT_EQ(nearest("llama3_70B", names), "llama-3-70b");
  EXPECT_EQ(nearest("mi300", names), "mi300x");
  EXPECT_EQ(nearest("llama", names), "llama-3-70b");
  EXPECT_EQ(nearest("zebra", names), "");
  EXPECT_EQ(nearest("", names), "");
}

}  // namespace
}  // namespace weir::plan
