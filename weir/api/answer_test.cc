#include "weir/api/answer.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace weir::api {
namespace {

namespace json = boost::json;

AnswerHead head(AnswerKind kind, bool usage = false, bool logprobs = false) {
  return {kind, "id-1", 1700000000, "m\"x", "fp", usage, logprobs};
}

json::object event(const std::string& out) {
  EXPECT_TRUE(out.starts_with("data: ") && out.ends_with("\n\n")) << out;
  EXPECT_EQ(out.find('\n'), out.size() - 2) << out;
  return json::parse(out.substr(6)).as_object();
}

template <class F>
json::object written(F write) {
  std::string out;
  write(out);
  return event(out);
}

const std::vector<TokenEntry> kEntries = {{{"a", -0.5F}, {{"a", -0.5F}, {"\xF0\x9F", -1}}, 0},
                                          {{"\xC3", -1.0F}, {}, 1}};

TEST(ChunkEncoder, AChatStreamIsRoleThenTextThenEmptyDeltaThenDone) {
  const ChunkEncoder encoder(head(AnswerKind::kChat));
  const auto first = written([&](auto& out) { encoder.open(out, 2); });
  for (const char* key : {"id", "object", "created", "model", "choices"})
    EXPECT_TRUE(first.contains(key));
  EXPECT_FALSE(first.contains("usage"));
  EXPECT_EQ(first.at("object").as_string(), "chat.completion.chunk");
  EXPECT_EQ(first.at("model").as_string(), "m\"x");
  const auto& opening = first.at("choices").at(0).as_object();
  EXPECT_EQ(opening.at("index").as_int64(), 2);
  EXPECT_EQ(opening.at("delta").at("role").as_string(), "assistant");
  EXPECT_EQ(opening.at("delta").at("content").as_string(), "");
  EXPECT_TRUE(opening.at("finish_reason").is_null());

  const auto middle = written([&](auto& out) { encoder.delta(out, 0, "a\n\"b", {}); });
  const auto& delta = middle.at("choices").at(0).at("delta").as_object();
  EXPECT_EQ(delta.size(), 1U);
  EXPECT_EQ(delta.at("content").as_string(), "a\n\"b");
  EXPECT_TRUE(middle.at("choices").at(0).at("logprobs").is_null());

  const auto last = written([&](auto& out) { encoder.close(out, 0, FinishWord::kLength); });
  EXPECT_TRUE(last.at("choices").at(0).at("delta").as_object().empty());
  EXPECT_EQ(last.at("choices").at(0).at("finish_reason").as_string(), "length");

  std::string done;
  encoder.usage(done, {});
  EXPECT_TRUE(done.empty());
  ChunkEncoder::done(done);
  EXPECT_EQ(done, "data: [DONE]\n\n");
}

TEST(ChunkEncoder, UsageComesOnceWithNoChoicesAndIsNullBefore) {
  const ChunkEncoder encoder(head(AnswerKind::kChat, true));
  EXPECT_TRUE(written([&](auto& out) { encoder.open(out, 0); }).at("usage").is_null());
  EXPECT_TRUE(written([&](auto& out) { encoder.delta(out, 0, "x", {}); }).at("usage").is_null());
  EXPECT_TRUE(
      written([&](auto& out) { encoder.close(out, 0, FinishWord::kStop); }).at("usage").is_null());
  const auto chunk = written([&](auto& out) { encoder.usage(out, {10, 5, 3}); });
  EXPECT_TRUE(chunk.at("choices").as_array().empty());
  EXPECT_EQ(chunk.at("usage").at("total_tokens").as_int64(), 15);
  EXPECT_EQ(chunk.at("usage").at("prompt_tokens_details").at("cached_tokens").as_int64(), 3);
}

TEST(ChunkEncoder, ACompletionStreamHasTextAndNoRole) {
  const ChunkEncoder encoder(head(AnswerKind::kCompletion));
  std::string nothing;
  encoder.open(nothing, 0);
  EXPECT_TRUE(nothing.empty());
  const auto chunk = written([&](auto& out) { encoder.delta(out, 1, "t", {}); });
  EXPECT_EQ(chunk.at("object").as_string(), "text_completion");
  EXPECT_EQ(chunk.at("choices").at(0).at("text").as_string(), "t");
  EXPECT_TRUE(chunk.at("choices").at(0).at("logprobs").is_null());
}

TEST(ChunkEncoder, AFaultMidStreamIsAnErrorEvent) {
  const auto chunk =
      written([&](auto& out) { ChunkEncoder::error(out, {Code::kUnavailable, "draining", {}}); });
  EXPECT_EQ(chunk.at("error").as_object().size(), 4U);
}

TEST(Answer, ChatLogprobsCarryBytesAndAlternatives) {
  const auto chunk = written([&](auto& out) {
    ChunkEncoder(head(AnswerKind::kChat, false, true)).delta(out, 0, "a", kEntries);
  });
  const auto& content = chunk.at("choices").at(0).at("logprobs").at("content").as_array();
  ASSERT_EQ(content.size(), 2U);
  EXPECT_EQ(json::serialize(content[0].at("bytes")), "[97]");
  EXPECT_EQ(content[0].at("top_logprobs").as_array().size(), 2U);
  EXPECT_EQ(content[0].at("top_logprobs").at(1).at("token").as_string(), "bytes:\\xf0\\x9f");
  EXPECT_EQ(json::serialize(content[1].at("bytes")), "[195]");
}

TEST(Answer, TheWholeBodyHasOpenAisShape) {
  const std::vector<Choice> choices = {{"hello", {}, FinishWord::kStop},
                                       {"", {}, FinishWord::kLength}};
  const auto body =
      json::parse(encode_answer(head(AnswerKind::kChat), choices, {1, 2, 0})).as_object();
  EXPECT_EQ(body.at("object").as_string(), "chat.completion");
  const auto& message = body.at("choices").at(0).at("message").as_object();
  EXPECT_EQ(message.at("content").as_string(), "hello");
  EXPECT_TRUE(message.at("refusal").is_null());
  EXPECT_EQ(body.at("choices").at(1).at("index").as_int64(), 1);
  EXPECT_EQ(body.at("choices").at(1).at("finish_reason").as_string(), "length");
  EXPECT_EQ(body.at("usage").at("total_tokens").as_int64(), 3);
}

TEST(Answer, LegacyLogprobsAreParallelLists) {
  const std::vector<Choice> choices = {{"a", kEntries, FinishWord::kStop}};
  const auto body =
      json::parse(encode_answer(head(AnswerKind::kCompletion, false, true), choices, {}));
  const auto& logprobs = body.at("choices").at(0).at("logprobs").as_object();
  for (const char* key : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
    EXPECT_EQ(logprobs.at(key).as_array().size(), 2U) << key;
  }
  EXPECT_EQ(logprobs.at("text_offset").at(1).as_int64(), 1);
}

}  // namespace
}  // namespace weir::api
