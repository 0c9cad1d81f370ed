/// Test helper: renders templates for comparison with Python's Jinja2. Reads one JSON object a
/// line,
/// {"template": text, "variables": JSON text, "now": seconds}, and answers one JSON object a line,
/// {"ok": text, "trusted": [[begin, end], ...]} (byte ranges) or {"error": message}. With "chat":
/// true "conversation" stands for the variables, with tools and call arguments as JSON texts.

#include <boost/json.hpp>
#include <iostream>
#include <string>

#include "weir/jinja/json.h"
#include "weir/jinja/template.h"
#include "weir/text/chat_template.h"

namespace {

namespace json = boost::json;

template <class Pieces>
json::object answer(const Pieces& pieces) {
  std::string text;
  json::array trusted;
  for (const auto& piece : pieces) {
    if (piece.trusted) trusted.push_back(json::array{text.size(), text.size() + piece.text.size()});
    text += piece.text;
  }
  return {{"ok", text}, {"trusted", trusted}};
}

json::object refusal(const weir::Error& error) { return {{"error", error.message}}; }

std::string text_at(const json::object& o, std::string_view key) {
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_string() ? std::string(v->get_string()) : std::string();
}

json::object render_plain(const json::object& line) {
  auto compiled = weir::jinja::Template::compile(text_at(line, "template"));
  if (!compiled) return refusal(compiled.error());
  weir::jinja::Heap heap(std::uint64_t{1} << 28);
  auto variables = weir::jinja::parse_json(heap, text_at(line, "variables"));
  if (!variables) return refusal(variables.error());
  auto out = compiled->render(heap, variables->dict(), line.at("now").to_number<std::int64_t>());
  return out ? answer(*out) : refusal(out.error());
}

weir::Conversation read_conversation(const json::object& o) {
  weir::Conversation c;
  for (const json::value& v : o.at("messages").as_array()) {
    const json::object& in = v.as_object();
    weir::ChatMessage m;
    const auto optional = [&](std::string_view key, std::optional<std::string>& into) {
      if (in.contains(key) && in.at(key).is_string()) into = text_at(in, key);
    };
    m.role = text_at(in, "role");
    optional("content", m.content);
    optional("name", m.name);
    optional("tool_call_id", m.tool_call_id);
    optional("reasoning_content", m.reasoning_content);
    if (const json::value* calls = in.if_contains("tool_calls")) {
      for (const json::value& call : calls->as_array()) {
        const json::object& function = call.as_object().at("function").as_object();
        m.tool_calls.push_back({text_at(call.as_object(), "id"), text_at(function, "name"),
                                text_at(function, "arguments")});
      }
    }
    c.messages.push_back(std::move(m));
  }
  if (const json::value* tools = o.if_contains("tools"); tools != nullptr && tools->is_array()) {
    for (const json::value& tool : tools->as_array()) c.tools.emplace_back(tool.as_string());
  }
  c.template_arguments = text_at(o, "kwargs");
  if (const json::value* prompt = o.if_contains("add_generation_prompt")) {
    c.add_generation_prompt = prompt->as_bool();
  }
  return c;
}

json::object render_chat(const json::object& line) {
  auto compiled = weir::text::ChatTemplate::compile(text_at(line, "template"));
  if (!compiled) return refusal(compiled.error());
  const json::object& conversation = line.at("conversation").as_object();
  auto out = compiled->render(read_conversation(conversation),
                              {.bos_token = text_at(conversation, "bos_token"),
                               .eos_token = text_at(conversation, "eos_token"),
                               .unix_seconds = line.at("now").to_number<std::int64_t>()});
  return out ? answer(*out) : refusal(out.error());
}

}  // namespace

int main() {
  std::string text;
  while (std::getline(std::cin, text)) {
    const json::object line = json::parse(text).as_object();
    const json::value* chat = line.if_contains("chat");
    const bool is_chat = chat != nullptr && chat->as_bool();
    std::cout << json::serialize(is_chat ? render_chat(line) : render_plain(line)) << '\n';
  }
  return 0;
}
