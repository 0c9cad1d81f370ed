#include "weir/api/json_text.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <random>

namespace weir::api {
namespace {

std::string as_json(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string number(float value) {
  std::string out;
  append_json_float(out, value);
  return out;
}

TEST(JsonText, EscapesWhatMustBeEscapedAndNothingElse) {
  EXPECT_EQ(as_json("a\"b\\c\n\r\t\x01/\x7F"), R"("a\"b\\c\n\r\t\u0001/\u007f")");
  EXPECT_EQ(as_json("h\xC3\xA9 \xF0\x9F\x98\x80"), "\"h\xC3\xA9 \xF0\x9F\x98\x80\"");
  EXPECT_EQ(as_json(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(JsonText, InvalidUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(as_json("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(as_json("\xE2\x82"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(as_json("\xED\xA0\x80x").find('\xED'), std::string::npos);
}

TEST(JsonText, AnyBytesMakeAValidJsonString) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 24, '\0');
    for (char& c : text)
      c = static_cast<char>(random() % 3 == 0 ? 0x80 | random() % 128 : random() % 128);
    boost::system::error_code fault;
    const auto value = boost::json::parse(as_json(text), fault);
    ASSERT_FALSE(fault) << round << ' ' << fault.message();
    ASSERT_TRUE(value.is_string());
  }
}

TEST(JsonText, FloatsReadBackAsThemselves) {
  for (const float value : {-0.1F, -1e-7F, -12.345678F, -0.0F, 0.0F, -1e30F, -3.0F}) {
    const auto text = number(value);
    EXPECT_EQ(static_cast<float>(boost::json::parse(text).to_number<double>()), value) << text;
  }
  EXPECT_EQ(number(-INFINITY), "-9999.0");
  EXPECT_EQ(number(NAN), "-9999.0");
}

}  // namespace
}  // namespace weir::api
