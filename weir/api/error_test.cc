#include "weir/api/error.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace weir::api {
namespace {

boost::json::object inner(const std::string& body) {
  return boost::json::parse(body).as_object().at("error").as_object();
}

TEST(ApiError, EveryBodyHasAllFourKeysAndACodeOfText) {
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code) {
    const auto error = inner(encode_error(Error{static_cast<Code>(code), "why \"x\"", {}}));
    EXPECT_EQ(error.size(), 4U);
    EXPECT_TRUE(error.at("message").is_string());
    EXPECT_TRUE(error.at("type").is_string());
    EXPECT_TRUE(error.at("param").is_null());
    EXPECT_TRUE(error.at("code").is_string());
  }
}

TEST(ApiError, TheSubjectIsTheParam) {
  const auto error = inner(encode_error(Error{Code::kInvalidArgument, "n is wrong", "n"}));
  EXPECT_EQ(error.at("param").as_string(), "n");
  EXPECT_EQ(error.at("type").as_string(), "invalid_request_error");
}

TEST(ApiError, AnUnknownModelHasItsOwnCode) {
  const Error model{Code::kNotFound, "no such model", "model"};
  EXPECT_EQ(shape_of(model).status, 404);
  EXPECT_EQ(shape_of(model).code, "model_not_found");
  EXPECT_EQ(shape_of(Error{Code::kNotFound, "no such path", {}}).code, "not_found");
}

TEST(ApiError, FullQueuesAndUnreadyServersSayWhenToComeBack) {
  EXPECT_EQ(shape_of(Error{Code::kExhausted, "", {}}).status, 429);
  EXPECT_TRUE(shape_of(Error{Code::kExhausted, "", {}}).retry_after);
  EXPECT_EQ(shape_of(Error{Code::kUnavailable, "", {}}).status, 503);
  EXPECT_TRUE(shape_of(Error{Code::kUnavailable, "", {}}).retry_after);
  EXPECT_FALSE(shape_of(Error{Code::kInvalidArgument, "", {}}).retry_after);
}

TEST(ApiError, InternalsDoNotLeak) {
  const auto body = encode_error(Error{Code::kInternal, "secret at 0x7ffe, /srv/model.gguf", "x"});
  EXPECT_EQ(body.find("secret"), std::string::npos);
  EXPECT_EQ(body.find("gguf"), std::string::npos);
}

TEST(ApiError, TooLongAPromptIsOpenAisCode) {
  EXPECT_EQ(shape_of(Error{Code::kContextLength, "", {}}).status, 400);
  EXPECT_EQ(shape_of(Error{Code::kContextLength, "", {}}).code, "context_length_exceeded");
}

}  // namespace
}  // namespace weir::api
