#include <gtest/gtest.h>

#include "weir/api/request.h"

namespace weir::api {
namespace {

Result<CompletionRequest> decode(std::string fields) {
  std::string body = "{'model':'m'," + fields + "}";
  for (char& c : body) c = c == '\'' ? '"' : c;
  DecodeContext context;
  context.vocabulary = 100;
  return decode_completion(body, context);
}

std::string refused(const std::string& fields) {
  const auto request = decode(fields);
  return request ? "accepted" : request.error().subject;
}

TEST(DecodeCompletion, APromptIsTextOrTokensOrAListOfEither) {
  const auto text = decode("'prompt':'hi'");
  ASSERT_TRUE(text.has_value()) << text.error().message;
  EXPECT_EQ(std::get<std::string>(text->prompts.at(0)), "hi");
  const auto texts = decode("'prompt':['a','b']");
  ASSERT_TRUE(texts.has_value());
  EXPECT_EQ(texts->prompts.size(), 2U);
  const auto tokens = decode("'prompt':[1,2,3]");
  ASSERT_TRUE(tokens.has_value());
  EXPECT_EQ(std::get<std::vector<TokenId>>(tokens->prompts.at(0)), (std::vector<TokenId>{1, 2, 3}));
  const auto lists = decode("'prompt':[[1],[2,3],'x']");
  ASSERT_TRUE(lists.has_value());
  EXPECT_EQ(lists->prompts.size(), 3U);
}

TEST(DecodeCompletion, AWrongPromptIsNamed) {
  EXPECT_EQ(refused("'x':1"), "prompt");
  EXPECT_EQ(refused("'prompt':{}"), "prompt");
  EXPECT_EQ(refused("'prompt':[]"), "prompt");
  EXPECT_EQ(refused("'prompt':[1,'a']"), "prompt[1]");
  EXPECT_EQ(refused("'prompt':[1,100]"), "prompt[1]");
  EXPECT_EQ(refused("'prompt':[-1]"), "prompt[0]");
  EXPECT_EQ(refused("'prompt':['a',{}]"), "prompt[1]");
  EXPECT_EQ(refused("'prompt':[[1],[200]]"), "prompt[1][0]");
}

TEST(DecodeCompletion, TheAnswerIsSixteenTokensUnlessAsked) {
  EXPECT_EQ(decode("'prompt':'x'")->answer.max_tokens, 16U);
  EXPECT_EQ(decode("'prompt':'x','max_tokens':3")->answer.max_tokens, 3U);
}

TEST(DecodeCompletion, LegacyFieldsAreObeyedOrRefused) {
  EXPECT_TRUE(decode("'prompt':'x','echo':true")->echo);
  EXPECT_EQ(decode("'prompt':'x','logprobs':5")->answer.top_logprobs, 5);
  EXPECT_EQ(decode("'prompt':'x','logprobs':0")->answer.top_logprobs, 0);
  EXPECT_TRUE(decode("'prompt':'x','suffix':null,'best_of':2,'n':2").has_value());
  EXPECT_EQ(refused("'prompt':'x','suffix':'end'"), "suffix");
  EXPECT_EQ(refused("'prompt':'x','best_of':3"), "best_of");
  EXPECT_EQ(refused("'prompt':'x','best_of':0"), "best_of");
  EXPECT_EQ(refused("'prompt':'x','echo':true,'logprobs':1"), "echo");
  EXPECT_EQ(refused("'prompt':'x','logprobs':21"), "logprobs");
  EXPECT_EQ(refused("'prompt':['a','b','c','d','e'],'n':16"), "n");
}

}  // namespace
}  // namespace weir::api
