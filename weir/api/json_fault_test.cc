// What a client reads whose body is not JSON.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/api/request.h"

namespace weir::api {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string fault(std::string_view body) {
  const auto decoded = decode_chat(body, {{}, 100});
  if (decoded) return "decoded";
  EXPECT_EQ(decoded.error().code, Code::kInvalidArgument);
  return decoded.error().message;
}

TEST(JsonFault, SaysWhereWhatStandsThereAndWhatIsExpected) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"model":!})", "at byte 9 '!' stands where a value is expected"},
      {R"({"model" "x"})", "at byte 9 '\"' stands where ':' is expected"},
      {R"({"a":1 "b":2})", "at byte 7 '\"' stands where ',' or '}' is expected"},
      {R"({"a":[1 2]})", "at byte 8 '2' stands where ',' or ']' is expected"},
      {R"({'a':1})", "at byte 1 a single quote stands where a key in double quotes or '}'"},
      {R"({"a":1,})", "at byte 7 '}' stands where a key in double quotes is expected"},
      {R"({"a":[1,]})", "at byte 8 ']' stands where a value is expected"},
      {R"({"a":{}]})", "at byte 7 ']' stands where ',' or '}' is expected"},
      {R"({"a":nul})", "at byte 5 'n' stands where a value is expected"},
      {"{} {}", "at byte 3 '{' stands where the end is expected"},
      {"{", "it ends at byte 1 where a key in double quotes or '}' is expected"},
      {R"({"a":"b)", "it ends at byte 7 where the end of a string is expected"},
      {R"({"a":"b\")", "where the end of a string is expected"},
      {R"({"a":true)", "it ends at byte 9 where ',' or '}' is expected"},
      {R"({"a":nul)", "it ends at byte 8 where true, false, null or a number is expected"},
      {R"({"a":12,"b")", "where ':' is expected"},
      {"{\n  \"a\": 1,\n  \"b\" 2}", "at byte 18 (line 3, column 7) '2' stands where ':'"},
      {"{\"a\":\"\n\"}", "at byte 6 stands the byte 0x0A in a string, where it must be escaped"},
      {"{\"a\":\"\xFF\"}", "at byte 6 stands the byte 0xFF in a string, which is no UTF-8"},
      {R"({"a":"\q"})", "at byte 7 'q' stands where an escape like \\n or \\u0041 is expected"},
  };
  for (const auto& [body, words] : cases) {
    EXPECT_THAT(fault(body), StartsWith("the body is not valid JSON: ")) << body;
    EXPECT_THAT(fault(body), HasSubstr(words)) << body;
  }
}

TEST(JsonFault, HasAPlaceForEveryCutAndEveryWrongByte) {
  const std::string body =
      R"({"model":"m","n":1.5e-3,"stop":["a\n\"",null,true],"logit_bias":{"1":-1},"x":{}})";
  for (std::size_t at = 1; at < body.size(); ++at) {
    EXPECT_THAT(fault(body.substr(0, at)), HasSubstr("at byte")) << at;
    for (const char wrong : {'\x01', '\xFF'}) {
      std::string other = body;
      other[at] = wrong;
      EXPECT_THAT(fault(other), HasSubstr("at byte")) << at;
    }
  }
}

}  // namespace
}  // namespace weir::api
