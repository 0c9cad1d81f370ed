#include <gtest/gtest.h>

#include "weir/api/request.h"

namespace weir::api {
namespace {

// The tiny language: a body is the required fields plus `more`; single quotes stand for double
// ones.
std::string quotes(std::string text) {
  for (char& c : text) c = c == '\'' ? '"' : c;
  return text;
}

DecodeContext context() {
  DecodeContext c;
  c.vocabulary = 100;
  c.defaults.temperature = 0.6F;
  return c;
}

Result<ChatRequest> decode(const std::string& body) { return decode_chat(quotes(body), context()); }

std::string with(const std::string& more) {
  return "{'model':'m','messages':[{'role':'user','content':'hi'}]," + more + "}";
}

std::string with_messages(const std::string& messages) {
  return "{'model':'m','messages':" + messages + "}";
}

#define EXPECT_REFUSED(body, code_, subject_)                                \
  do {                                                                       \
    const auto refused = decode(body);                                       \
    ASSERT_FALSE(refused.has_value()) << (body);                             \
    EXPECT_EQ(refused.error().code, code_) << (body);                        \
    EXPECT_EQ(refused.error().subject, subject_) << refused.error().message; \
    EXPECT_FALSE(refused.error().message.empty());                           \
  } while (false)

TEST(DecodeChat, TheSmallestRequestTakesTheModelsDefaults) {
  const auto request = decode(with("'x':1"));
  ASSERT_TRUE(request.has_value()) << request.error().message;
  EXPECT_EQ(request->answer.model, "m");
  EXPECT_FLOAT_EQ(request->answer.sampling.temperature, 0.6F);
  EXPECT_EQ(request->answer.choices, 1U);
  EXPECT_FALSE(request->answer.stream);
  EXPECT_FALSE(request->answer.max_tokens);
  EXPECT_EQ(request->answer.top_logprobs, -1);
  ASSERT_EQ(request->conversation.messages.size(), 1U);
  EXPECT_EQ(request->conversation.messages[0].content, "hi");
  EXPECT_TRUE(request->conversation.add_generation_prompt);
}

TEST(DecodeChat, EveryKnobIsRead) {
  const auto request = decode(with(
      "'temperature':0,'top_p':0.5,'top_k':40,'min_p':0.1,'typical_p':0.9,'repetition_penalty':1.1,"
      "'presence_penalty':-1,'frequency_penalty':2.0,'seed':-5,'logit_bias':{'7':-100,'8':1.5},"
      "'max_completion_tokens':12,'max_tokens':99,'min_tokens':2,'ignore_eos':true,'stop_token_ids'"
      ":[3],"
      "'stop':['a','b'],'n':3,'stream':true,'stream_options':{'include_usage':true,'include_"
      "obfuscation':false},"
      "'logprobs':true,'top_logprobs':5,'add_generation_prompt':false,'chat_template_kwargs':{'x':["
      "1]},"
      "'response_format':{'type':'text'},'user':'u','metadata':{},'store':true,'service_tier':'"
      "auto',"
      "'prompt_cache_key':'k','safety_identifier':'s','verbosity':'low','prediction':{},'"
      "modalities':['text']"));
  ASSERT_TRUE(request.has_value()) << request.error().message;
  const auto& a = request->answer;
  EXPECT_FLOAT_EQ(a.sampling.temperature, 0);
  EXPECT_FLOAT_EQ(a.sampling.top_p, 0.5F);
  EXPECT_EQ(a.sampling.top_k, 40);
  EXPECT_FLOAT_EQ(a.sampling.typical_p, 0.9F);
  EXPECT_EQ(a.sampling.seed, static_cast<std::uint64_t>(-5));
  ASSERT_EQ(a.sampling.logit_bias.size(), 2U);
  EXPECT_EQ(a.max_tokens, 12U);
  EXPECT_EQ(a.min_tokens, 2U);
  EXPECT_TRUE(a.ignore_eos);
  EXPECT_EQ(a.stop_tokens, std::vector<TokenId>{3});
  EXPECT_EQ(a.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(a.choices, 3U);
  EXPECT_TRUE(a.stream);
  EXPECT_TRUE(a.include_usage);
  EXPECT_EQ(a.top_logprobs, 5);
  EXPECT_FALSE(request->conversation.add_generation_prompt);
  EXPECT_EQ(request->conversation.template_arguments, "{\"x\":[1]}");
}

TEST(DecodeChat, NullMeansAbsent) {
  EXPECT_TRUE(
      decode(with("'temperature':null,'stop':null,'n':null,'stream':null,'stream_options':null,"
                  "'tools':null,'tool_choice':null,'logprobs':null,'top_logprobs':null,"
                  "'max_tokens':null,'response_format':null,'functions':null"))
          .has_value());
}

TEST(DecodeChat, ANumberOutOfItsRangeIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"'temperature':2.1", "temperature"},
      {"'temperature':-0.1", "temperature"},
      {"'temperature':1e999", "temperature"},
      {"'top_p':0", "top_p"},
      {"'top_p':1.01", "top_p"},
      {"'min_p':-1", "min_p"},
      {"'typical_p':0", "typical_p"},
      {"'repetition_penalty':0", "repetition_penalty"},
      {"'presence_penalty':3", "presence_penalty"},
      {"'frequency_penalty':-3", "frequency_penalty"},
      {"'top_k':-2", "top_k"},
      {"'top_k':2147483648", "top_k"},
      {"'max_tokens':0", "max_tokens"},
      {"'max_tokens':-1", "max_tokens"},
      {"'max_tokens':2147483648", "max_tokens"},
      {"'max_tokens':99999999999999999999999", "max_tokens"},
      {"'max_tokens':18446744073709551615", "max_tokens"},
      {"'max_completion_tokens':0", "max_completion_tokens"},
      {"'min_tokens':-1", "min_tokens"},
      {"'min_tokens':5,'max_tokens':4", "min_tokens"},
      {"'n':0", "n"},
      {"'n':17", "n"},
      {"'seed':9223372036854775808", "seed"},
      {"'logprobs':true,'top_logprobs':21", "top_logprobs"},
      {"'logprobs':true,'top_logprobs':-1", "top_logprobs"},
      {"'top_logprobs':1", "top_logprobs"},
      {"'logit_bias':{'100':1}", "logit_bias"},
      {"'logit_bias':{'-1':1}", "logit_bias"},
      {"'logit_bias':{'x':1}", "logit_bias"},
      {"'logit_bias':{'1':101}", "logit_bias.1"},
      {"'logit_bias':{'07':1}", "logit_bias"},  // Or a token could have two amounts.
      {"'logit_bias':{'00':1}", "logit_bias"},
      {"'service_tier':'fast'", "service_tier"},
      {"'service_tier':'fast','priority':'critical'", "service_tier"},
      {"'service_tier':''", "service_tier"},
      {"'stop_token_ids':[100]", "stop_token_ids[0]"},
      {"'stop':''", "stop"},
      {"'stop':['']", "stop"},
      {"'stop':['1','2','3','4','5','6','7','8','9','10','11','12','13','14','15','16','17']",
       "stop"},
  };
  for (const auto& [field, subject] : cases)
    EXPECT_REFUSED(with(field), Code::kInvalidArgument, subject);
}

TEST(DecodeChat, AServiceTierIsAClassUnlessAPriorityIsGiven) {
  const std::pair<const char*, Priority> cases[] = {
      {"'service_tier':'auto'", Priority::kStandard},
      {"'service_tier':'default'", Priority::kStandard},
      {"'service_tier':'scale'", Priority::kStandard},
      {"'service_tier':'flex'", Priority::kBackground},
      {"'service_tier':'priority'", Priority::kCritical},
      {"'service_tier':null", Priority::kStandard},
      {"'service_tier':'flex','priority':'critical'", Priority::kCritical},
  };
  for (const auto& [field, wanted] : cases) {
    const auto request = decode(with(field));
    ASSERT_TRUE(request) << field;
    EXPECT_EQ(request->answer.priority, wanted) << field;
  }
  EXPECT_EQ(decode(with("'service_tier':'fast'")).error().message,
            "Invalid value: 'fast'. Supported values are: 'auto', 'default', 'flex', 'scale', and "
            "'priority'.");
}

TEST(DecodeChat, OfTwoEqualKeysTheLastCounts) {
  const auto request = decode(with("'logit_bias':{'1':-5,'1':7},'n':2,'n':3"));
  ASSERT_TRUE(request);
  ASSERT_EQ(request->answer.sampling.logit_bias.size(), 1U);
  EXPECT_FLOAT_EQ(request->answer.sampling.logit_bias[0].second, 7);
  EXPECT_EQ(request->answer.choices, 3U);
}

TEST(DecodeChat, AWrongTypeIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"'temperature':'1'", "temperature"},
      {"'max_tokens':1.5", "max_tokens"},
      {"'max_tokens':'5'", "max_tokens"},
      {"'stream':1", "stream"},
      {"'stop':5", "stop"},
      {"'stop':[1]", "stop[0]"},
      {"'n':true", "n"},
      {"'logprobs':3", "logprobs"},
      {"'logit_bias':[]", "logit_bias"},
      {"'service_tier':1", "service_tier"},
      {"'logit_bias':{'1':'x'}", "logit_bias.1"},
      {"'tools':{}", "tools"},
      {"'tools':[1]", "tools[0]"},
      {"'tool_choice':1", "tool_choice"},
      {"'stream':true,'stream_options':[]", "stream_options"},
      {"'chat_template_kwargs':[]", "chat_template_kwargs"},
      {"'stream':true,'stream_options':{'include_usage':1}", "stream_options.include_usage"},
      {"'response_format':'json'", "response_format"},
  };
  for (const auto& [field, subject] : cases)
    EXPECT_REFUSED(with(field), Code::kInvalidArgument, subject);
}

TEST(DecodeChat, WhatCannotBeObeyedIsRefusedAndNotIgnored) {
  const std::pair<const char*, const char*> cases[] = {
      {"'response_format':{'type':'json_object'}", "response_format"},
      {"'response_format':{'type':'json_schema','json_schema':{}}", "response_format"},
      {"'tools':[{'type':'function','function':{'name':'f'}}],'tool_choice':'required'",
       "tool_choice"},
      {"'tool_choice':{'type':'function','function':{'name':'f'}}", "tool_choice"},
      {"'functions':[{'name':'f'}]", "functions"},
      {"'guided_json':{'type':'object'}", "guided_json"},
      {"'grammar':'root ::= x'", "grammar"},
      {"'modalities':['audio']", "modalities"},
      {"'skip_special_tokens':false", "skip_special_tokens"},
      {"'echo':true", "echo"},
  };
  for (const auto& [field, subject] : cases)
    EXPECT_REFUSED(with(field), Code::kUnsupported, subject);
}

TEST(DecodeChat, StreamOptionsNeedStream) {
  EXPECT_REFUSED(with("'stream_options':{'include_usage':true}"), Code::kInvalidArgument,
                 "stream_options");
}

TEST(DecodeChat, MessagesAreCheckedOneByOne) {
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "messages"},
      {"{}", "messages"},
      {"'hi'", "messages"},
      {"null", "messages"},
      {"['hi']", "messages[0]"},
      {"[{'content':'x'}]", "messages[0].role"},
      {"[{'role':'user'}]", "messages[0].content"},
      {"[{'role':'user','content':null}]", "messages[0].content"},
      {"[{'role':'robot','content':'x'}]", "messages[0].role"},
      {"[{'role':1,'content':'x'}]", "messages[0].role"},
      {"[{'role':'user','content':'x'},{'role':'user','content':5}]", "messages[1].content"},
      {"[{'role':'user','content':['x']}]", "messages[0].content[0]"},
      {"[{'role':'user','content':[{'text':'x'}]}]", "messages[0].content[0].type"},
      {"[{'role':'user','content':[{'type':'text'}]}]", "messages[0].content[0].text"},
      {"[{'role':'tool','content':'x'}]", "messages[0].tool_call_id"},
      {"[{'role':'assistant','content':null,'tool_calls':[{'id':'1'}]}]",
       "messages[0].tool_calls[0].function"},
      {"[{'role':'user','content':'x','name':4}]", "messages[0].name"},
  };
  for (const auto& [messages, subject] : cases) {
    EXPECT_REFUSED(with_messages(messages), Code::kInvalidArgument, subject);
  }
}

TEST(DecodeChat, ImagesAndSoundAreRefusedByName) {
  EXPECT_REFUSED(with_messages("[{'role':'user','content':[{'type':'text','text':'a'},"
                               "{'type':'image_url','image_url':{'url':'x'}}]}]"),
                 Code::kUnsupported, "messages[0].content[1].type");
}

TEST(DecodeChat, TextPartsAreJoinedAndToolTalkIsKept) {
  const auto request = decode(with_messages(
      "[{'role':'developer','content':[{'type':'text','text':'a'},{'type':'text','text':'b'}]},"
      "{'role':'assistant','content':null,'tool_calls':[{'id':'c1','type':'function',"
      "'function':{'name':'f','arguments':'{}'}}]},"
      "{'role':'tool','tool_call_id':'c1','content':'42'}],"
      "'tools':[{'type':'function','function':{'name':'f','parameters':{}}}],'tool_choice':'"
      "auto'"));
  ASSERT_TRUE(request.has_value()) << request.error().message;
  const auto& messages = request->conversation.messages;
  EXPECT_EQ(messages[0].content, "a\nb");
  EXPECT_FALSE(messages[1].content);
  ASSERT_EQ(messages[1].tool_calls.size(), 1U);
  EXPECT_EQ(messages[1].tool_calls[0].name, "f");
  EXPECT_EQ(messages[2].tool_call_id, "c1");
  ASSERT_EQ(request->conversation.tools.size(), 1U);
  EXPECT_NE(request->conversation.tools[0].find("\"parameters\""), std::string::npos);
}

TEST(DecodeChat, ToolChoiceNoneHidesTheTools) {
  const auto request =
      decode(with("'tools':[{'type':'function','function':{'name':'f'}}],'tool_choice':'none'"));
  ASSERT_TRUE(request.has_value());
  EXPECT_TRUE(request->conversation.tools.empty());
}

TEST(DecodeChat, BrokenJsonSaysAtWhichByte) {
  const auto broken = decode("{'model':'m',!");
  ASSERT_FALSE(broken.has_value());
  EXPECT_EQ(broken.error().code, Code::kInvalidArgument);
  EXPECT_NE(broken.error().message.find("at byte 13"), std::string::npos) << broken.error().message;
  for (const char* body : {"", "{", "[]", "null", "{} x", "{'a':\xFF'}", "{'model':'\xC3('}",
                           "\xEF\xBB\xBF{}", "{'model':'\\ud800'}", "{'model':NaN}"}) {
    const auto refused = decode(body);
    ASSERT_FALSE(refused.has_value()) << body;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  }
}

TEST(DecodeChat, DeepNestingIsRefusedNotFollowed) {
  const auto refused = decode("{'a':" + std::string(100000, '[') + "}");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("at byte"), std::string::npos);
}

TEST(DecodeChat, AMissingModelIsNamed) {
  EXPECT_REFUSED("{'messages':[{'role':'user','content':'x'}]}", Code::kInvalidArgument, "model");
  EXPECT_REFUSED("{'model':7,'messages':[]}", Code::kInvalidArgument, "model");
}

}  // namespace
}  // namespace weir::api
