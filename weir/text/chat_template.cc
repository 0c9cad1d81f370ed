#include "weir/text/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "weir/base/utf8.h"
#include "weir/jinja/json.h"
#include "weir/jinja/template.h"

namespace weir::text {
namespace {

using jinja::DictObject;
using jinja::Heap;
using jinja::Kind;
using jinja::Value;

/// Work units (bytes copied, steps of 64) for one render; more for a longer conversation, so that
/// its length alone never exhausts them.
constexpr std::uint64_t kBaseBudget = std::uint64_t{128} << 20;
constexpr std::uint64_t kBudgetPerByte = 32;

/// How this template wants what templates disagree on.
struct Forms {
  bool parts = false;  ///< Content as [{"type": "text", "text": ...}].
  enum class Absent : std::uint8_t { kMissing, kNone, kEmpty } absent = Absent::kMissing;
  bool arguments_as_text = false;
};

class Builder {
 public:
  Builder(Heap& heap, const Forms& forms, bool knows_developer)
      : heap_(heap), forms_(forms), knows_developer_(knows_developer) {}

  Result<DictObject*> variables(const Conversation& c, const TemplateContext& context) {
    DictObject& out = *heap_.make<DictObject>();
    WEIR_TRY_STATUS(extra(out, c.template_arguments));
    std::vector<Value> messages;
    for (const ChatMessage& m : c.messages) {
      WEIR_TRY(const Value v, message(m));
      messages.push_back(v);
    }
    set(out, "messages", list(std::move(messages)));
    WEIR_TRY(const Value tools, tool_list(c.tools));
    set(out, "tools", tools);
    if (out.find("documents") == nullptr) set(out, "documents", jinja::none());
    set(out, "add_generation_prompt", jinja::boolean(c.add_generation_prompt));
    set(out, "bos_token", heap_.string(context.bos_token, true));
    set(out, "eos_token", heap_.string(context.eos_token, true));
    return &out;
  }

 private:
  void set(DictObject& dict, std::string_view key, const Value& value) {
    dict.set(heap_.string(std::string(key), true), value);
  }
  Value user_text(const std::string& text) { return heap_.string(text, false); }
  Value list(std::vector<Value> items) {
    Value v = heap_.list(std::move(items));
    v.trusted = false;
    return v;
  }
  Value dict(DictObject& object) { return heap_.object(Kind::kDict, &object, false); }

  Status extra(DictObject& out, const std::string& json) {
    if (json.empty()) return {};
    static constexpr std::string_view kSubject = "chat_template_kwargs";
    Result<Value> v = jinja::parse_json(heap_, json);
    if (!v) return fail(v.error().code, v.error().message, std::string(kSubject));
    if (!v->is(Kind::kDict)) {
      return fail(Code::kInvalidArgument, "chat_template_kwargs must be an object",
                  std::string(kSubject));
    }
    static constexpr std::array<std::string_view, 5> kOurs = {
        "messages", "tools", "add_generation_prompt", "bos_token", "eos_token"};
    for (const auto& [key, value] : v->dict().items) {
      if (std::ranges::find(kOurs, key.str()) != kOurs.end()) {
        return fail(Code::kInvalidArgument,
                    fmt::format("chat_template_kwargs may not set '{}'", key.str()),
                    std::string(kSubject));
      }
      out.set(key, value);
    }
    return {};
  }

  Value role(const std::string& name) {
    static constexpr std::array<std::string_view, 5> kRoles = {"system", "user", "assistant",
                                                               "tool", "developer"};
    const bool known = std::ranges::find(kRoles, name) != kRoles.end();
    if (name == "developer" && !knows_developer_) return heap_.string("system", true);
    return heap_.string(name, known);
  }

  Value content(const std::string& text) {
    if (!forms_.parts) return user_text(text);
    DictObject& part = *heap_.make<DictObject>();
    set(part, "type", heap_.string("text", true));
    set(part, "text", user_text(text));
    return list({dict(part)});
  }

  Value arguments(const std::string& json) {
    if (forms_.arguments_as_text) return user_text(json);
    if (json.empty()) return dict(*heap_.make<DictObject>());
    const Result<Value> parsed = jinja::parse_json(heap_, json);
    // A model may have written arguments that are no object; the template then sees what it wrote.
    return parsed && parsed->is(Kind::kDict) ? *parsed : user_text(json);
  }

  Value tool_calls(const std::vector<ToolCall>& calls) {
    std::vector<Value> out;
    for (const ToolCall& c : calls) {
      DictObject& function = *heap_.make<DictObject>();
      set(function, "name", user_text(c.name));
      set(function, "arguments", arguments(c.arguments));
      DictObject& call = *heap_.make<DictObject>();
      if (!c.id.empty()) set(call, "id", user_text(c.id));
      set(call, "type", heap_.string("function", true));
      set(call, "function", dict(function));
      out.push_back(dict(call));
    }
    return list(std::move(out));
  }

  Result<Value> message(const ChatMessage& m) {
    WEIR_TRY_STATUS(heap_.charge(Heap::kStep));
    DictObject& out = *heap_.make<DictObject>();
    set(out, "role", role(m.role));
    if (m.content) {
      set(out, "content", content(*m.content));
    } else if (forms_.absent == Forms::Absent::kNone) {
      set(out, "content", jinja::none());
    } else if (forms_.absent == Forms::Absent::kEmpty) {
      set(out, "content", content(""));
    }
    if (m.name) set(out, "name", user_text(*m.name));
    if (m.tool_call_id) set(out, "tool_call_id", user_text(*m.tool_call_id));
    if (!m.tool_calls.empty()) set(out, "tool_calls", tool_calls(m.tool_calls));
    if (m.reasoning_content) {
      set(out, "reasoning_content", user_text(*m.reasoning_content));
      set(out, "thinking",
          user_text(*m.reasoning_content));  // The older name, as transformers adds it.
    }
    return dict(out);
  }

  Result<Value> tool_list(const std::vector<std::string>& tools) {
    if (tools.empty()) return jinja::none();
    std::vector<Value> out;
    for (std::size_t i = 0; i < tools.size(); ++i) {
      Result<Value> v = jinja::parse_json(heap_, tools[i]);
      if (!v) return fail(v.error().code, v.error().message, fmt::format("tools[{}]", i));
      out.push_back(*v);
    }
    return list(std::move(out));
  }

  Heap& heap_;
  const Forms& forms_;
  bool knows_developer_;
};

std::uint64_t bytes_of(const Conversation& c) {
  std::uint64_t n = c.template_arguments.size();
  for (const std::string& tool : c.tools) n += tool.size();
  for (const ChatMessage& m : c.messages) {
    n += m.role.size() + m.content.value_or("").size() + m.name.value_or("").size() +
         m.tool_call_id.value_or("").size() + m.reasoning_content.value_or("").size() + 64;
    for (const ToolCall& call : m.tool_calls) {
      n += call.id.size() + call.name.size() + call.arguments.size() + 64;
    }
  }
  return n;
}

ChatMessage message(std::string role, std::optional<std::string> content) {
  ChatMessage m;
  m.role = std::move(role);
  m.content = std::move(content);
  return m;
}

std::string join(const std::vector<Span>& spans) {
  std::string out;
  for (const Span& s : spans) out += s.text;
  return out;
}

}  // namespace

struct ChatTemplate::Impl {
  jinja::Template compiled;
  Forms forms;
  bool knows_developer;

  Result<std::vector<Span>> render(const Conversation& c, const TemplateContext& context,
                                   const Forms& with) const {
    Heap heap(kBaseBudget + kBudgetPerByte * bytes_of(c));
    WEIR_TRY(const DictObject* variables,
             Builder(heap, with, knows_developer).variables(c, context));
    WEIR_TRY(std::vector<jinja::Piece> pieces,
             compiled.render(heap, *variables, context.unix_seconds));
    std::vector<Span> out;
    out.reserve(pieces.size());
    for (jinja::Piece& p : pieces) out.push_back({std::move(p.text), p.trusted});
    return out;
  }

  /// The text that a conversation renders to with these forms, or the error.
  Result<std::string> probe(const Conversation& c, const Forms& with) const {
    WEIR_TRY(const auto spans, render(c, {.bos_token = "<s>", .eos_token = "</s>"}, with));
    return join(spans);
  }

  /// The self-test; sets forms.parts.
  Status test_text() {
    static constexpr std::string_view kNeedle = "weir probe text";
    Conversation plain;
    plain.messages = {message("user", std::string(kNeedle))};
    Conversation with_system = plain;
    with_system.messages.insert(with_system.messages.begin(), message("system", "Be brief."));
    Status first;
    for (const Conversation* c : {&plain, &with_system}) {
      for (const bool parts : {false, true}) {
        Forms with = forms;
        with.parts = parts;
        const Result<std::string> text = probe(*c, with);
        if (text && text->find(kNeedle) != std::string::npos) {
          forms = with;
          return {};
        }
        if (!text && first) first = std::unexpected(text.error());
      }
    }
    if (!first) return first;
    return fail(Code::kInvalidArgument,
                "the chat template does not print what the user says: it is not one",
                "chat_template");
  }

  /// Chooses the forms of a tool-calling message, if the template prints such messages at all.
  void test_tool_calls() {
    Conversation c;
    c.messages = {message("user", "probe"), message("assistant", std::nullopt),
                  message("tool", "probe result"), message("user", "and now?")};
    c.messages[1].tool_calls = {{"call00000", "weir_probe", R"({"weir_key": "weir_value"})"}};
    c.messages[2].tool_call_id = "call00000";
    c.messages[2].name = "weir_probe";
    for (const bool as_text : {false, true}) {
      for (const auto absent :
           {Forms::Absent::kMissing, Forms::Absent::kNone, Forms::Absent::kEmpty}) {
        Forms with = forms;
        with.absent = absent;
        with.arguments_as_text = as_text;
        const Result<std::string> text = probe(c, with);
        if (!text || text->find("weir_value") == std::string::npos) continue;
        // Python's rendering of an object or of nothing is never meant.
        if (text->find("{'weir_key'") != std::string::npos) continue;
        if (text->find("None") != std::string::npos) continue;
        if (text->find("\\\"weir_key") != std::string::npos) continue;
        forms = with;
        return;
      }
    }
  }
};

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::compile(std::string_view source) {
  WEIR_TRY(jinja::Template compiled, jinja::Template::compile(source));
  const bool knows_developer = compiled.source().find("developer") != std::string::npos;
  auto impl = std::make_unique<Impl>(Impl{std::move(compiled), {}, knows_developer});
  WEIR_TRY_STATUS(impl->test_text());
  impl->test_tool_calls();
  return ChatTemplate(std::move(impl));
}

Result<std::vector<Span>> ChatTemplate::render(const Conversation& conversation,
                                               const TemplateContext& context) const {
  return impl_->render(conversation, context, impl_->forms);
}

bool ChatTemplate::knows_tools() const { return impl_->compiled.reads("tools"); }
bool ChatTemplate::knows_developer() const { return impl_->knows_developer; }
const std::string& ChatTemplate::source() const { return impl_->compiled.source(); }

}  // namespace weir::text
