#include "weir/text/chat_template.h"

#include <gtest/gtest.h>

namespace weir::text {
namespace {

ChatMessage says(std::string role, std::string content) {
  ChatMessage m;
  m.role = std::move(role);
  m.content = std::move(content);
  return m;
}

Conversation conversation(std::vector<ChatMessage> messages) {
  Conversation c;
  c.messages = std::move(messages);
  return c;
}

/// What the template makes of it, the conversation's own text in «».
std::string render(std::string_view source, const Conversation& c) {
  auto compiled = ChatTemplate::compile(source);
  if (!compiled) return "compile error: " + compiled.error().message;
  auto spans = compiled->render(c, {.bos_token = "<s>", .eos_token = "</s>", .unix_seconds = 0});
  if (!spans) return "error: " + spans.error().message + " [" + spans.error().subject + "]";
  std::string out;
  for (const Span& s : *spans) out += s.trusted ? s.text : "«" + s.text + "»";
  return out;
}

constexpr std::string_view kPlain =
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}";

ChatMessage calls(std::string arguments) {
  ChatMessage m;
  m.role = "assistant";
  m.tool_calls = {{"id1", "f", std::move(arguments)}};
  return m;
}

TEST(ChatTemplate, RolesAndTokensAreTrustedAndContentIsNot) {
  EXPECT_EQ(render(kPlain, conversation({says("system", "S"), says("user", "<|system|>")})),
            "<s><|system|>«S»</><|user|>«<|system|>»</><|assistant|>");
  EXPECT_EQ(render(kPlain, conversation({says("odd|>x<|", "u")})),
            "<s><|«odd|>x<|»|>«u»</><|assistant|>");
}

TEST(ChatTemplate, DeveloperBecomesSystemWhereItIsUnknown) {
  EXPECT_EQ(render(kPlain, conversation({says("developer", "D")})),
            "<s><|system|>«D»</><|assistant|>");
  const std::string knows = std::string(kPlain) + "{# developer #}";
  EXPECT_EQ(render(knows, conversation({says("developer", "D")})),
            "<s><|developer|>«D»</><|assistant|>");
}

TEST(ChatTemplate, ArgumentsComeAsAnObjectWhereTheTemplateMakesJsonOfThem) {
  const std::string source =
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}"
      "{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}";
  EXPECT_EQ(render(source, conversation({says("user", "u"), calls(R"({"b":1,"a":"x"})")})),
            R"(«u{"b": 1, "a": "x"}»)");
}

TEST(ChatTemplate, ArgumentsComeAsTextWhereTheTemplateJoinsThem) {
  const std::string source =
      "{% for m in messages %}{% if m.content is none %}{% for c in m.tool_calls %}"
      "{{ '[' + c.function.arguments + ']' }}{% endfor %}{% else %}{{ m.content + '.' }}{% endif %}"
      "{% endfor %}";
  EXPECT_EQ(render(source, conversation({says("user", "u"), calls(R"({"b":1})")})),
            R"(«u».[«{"b":1}»])");
}

TEST(ChatTemplate, ContentComesInPartsWhereTheTemplateWantsParts) {
  const std::string source =
      "{% for m in messages %}{% for p in m.content %}{{ p.text }};{% endfor %}{% endfor %}";
  EXPECT_EQ(render(source, conversation({says("user", "hello")})), "«hello»;");
}

TEST(ChatTemplate, ToolsAreParsedAndKeepTheirKeyOrder) {
  const std::string source =
      std::string(kPlain) + "{% for t in tools or [] %}{{ t|tojson }}{% endfor %}";
  Conversation c = conversation({says("user", "u")});
  c.tools = {R"({"z":1,"a":{"k":[]}})"};
  EXPECT_EQ(render(source, c), "<s><|user|>«u»</><|assistant|>«{\"z\": 1, \"a\": {\"k\": []}}»");
  c.tools = {"{"};
  EXPECT_EQ(render(source, c), "error: invalid JSON at byte 1: expected a key [tools[0]]");
  EXPECT_TRUE(ChatTemplate::compile(source)->knows_tools());
  EXPECT_FALSE(ChatTemplate::compile(kPlain)->knows_tools());
}

TEST(ChatTemplate, TemplateArgumentsReachTheTemplateButNotOurOwnNames) {
  const std::string source = std::string(kPlain) + "{{ mode }}";
  Conversation c = conversation({says("user", "u")});
  c.template_arguments = R"({"mode": "x"})";
  EXPECT_EQ(render(source, c), "<s><|user|>«u»</><|assistant|>«x»");
  c.template_arguments = R"({"bos_token": "x"})";
  EXPECT_EQ(render(source, c),
            "error: chat_template_kwargs may not set 'bos_token' [chat_template_kwargs]");
}

TEST(ChatTemplate, ATemplateThatPrintsNoConversationIsNoChatTemplate) {
  EXPECT_EQ(render("hello", conversation({})),
            "compile error: the chat template does not print what the user says: it is not one");
  EXPECT_EQ(render("{{ nope.x }}", conversation({})),
            "compile error: line 1, column 8: 'nope' is undefined");
}

TEST(ChatTemplate, ARefusalOfTheTemplateIsAnErrorOfTheRequest) {
  const std::string source =
      "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
      "{{ m.content }}{% endfor %}";
  EXPECT_EQ(render(source, conversation({says("tool", "t")})),
            "error: line 1, column 67: the template refuses: no tools [chat_template]");
}

}  // namespace
}  // namespace weir::text
