#include <fmt/format.h>

#include "weir/api/internal/options.h"

namespace weir::api {
namespace {

constexpr std::string_view kRoles[] = {"developer", "system", "user", "assistant", "tool"};

std::unexpected<Error> missing(std::string name, std::string_view hint = {}) {
  std::string message = fmt::format("{} is missing{}{}", name, hint.empty() ? "" : ": ", hint);
  return fail(Code::kInvalidArgument, std::move(message), std::move(name));
}

/// Several text parts are joined by line ends.
Result<std::string> decode_parts(const json::array& parts, const std::string& name) {
  std::string text;
  std::size_t index = 0;
  for (const auto& part : parts) {
    const std::string path = fmt::format("{}[{}]", name, index);
    if (!part.is_object()) return wrong_type(path, "an object", part);
    const Fields fields(part.get_object(), path);
    WEIR_TRY(const auto type, fields.string("type"));
    if (!type) return missing(fields.name("type"));
    const bool refusal = *type == "refusal";
    if (*type != "text" && !refusal) {
      return fail(Code::kUnsupported,
                  fmt::format("{} is \"{}\", but this model reads only \"text\"",
                              fields.name("type"), type->substr(0, 64)),
                  fields.name("type"));
    }
    WEIR_TRY(const auto piece, fields.string(refusal ? "refusal" : "text"));
    if (!piece) return missing(fields.name(*type));
    if (index++ > 0) text += '\n';
    text += *piece;
  }
  return text;
}

Result<std::vector<ToolCall>> decode_tool_calls(const json::array& array, const std::string& name) {
  std::vector<ToolCall> calls;
  for (const auto& element : array) {
    const std::string path = fmt::format("{}[{}]", name, calls.size());
    if (!element.is_object()) return wrong_type(path, "an object", element);
    const Fields fields(element.get_object(), path);
    WEIR_TRY(const auto type, fields.string("type"));
    if (type && *type != "function") {
      return fail(Code::kUnsupported,
                  fmt::format("{} can only be \"function\"", fields.name("type")),
                  fields.name("type"));
    }
    WEIR_TRY(const auto* function, fields.object("function"));
    if (function == nullptr) return missing(fields.name("function"));
    const Fields inner(*function, fields.name("function"));
    WEIR_TRY(auto id, fields.string("id"));
    WEIR_TRY(auto called, inner.string("name"));
    WEIR_TRY(auto arguments, inner.string("arguments"));
    if (!called) return missing(inner.name("name"));
    calls.push_back(
        {std::move(id).value_or(""), *std::move(called), std::move(arguments).value_or("{}")});
  }
  return calls;
}

Result<ChatMessage> decode_message(const json::value& value, const std::string& path) {
  if (!value.is_object()) return wrong_type(path, "an object", value);
  const Fields fields(value.get_object(), path);
  ChatMessage message;
  WEIR_TRY(auto role, fields.string("role"));
  if (!role) return missing(fields.name("role"));
  if (std::find(std::begin(kRoles), std::end(kRoles), *role) == std::end(kRoles)) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{} must be developer, system, user, assistant or tool, but it is \"{}\"",
                    fields.name("role"), role->substr(0, 64)),
        fields.name("role"));
  }
  message.role = *std::move(role);

  const auto* content = fields.find("content");
  if (content != nullptr && content->is_array()) {
    WEIR_TRY(message.content, decode_parts(content->get_array(), fields.name("content")));
  } else if (content != nullptr) {
    if (!content->is_string()) {
      return wrong_type(fields.name("content"), "a string or an array of parts", *content);
    }
    WEIR_TRY(message.content, to_string(*content, fields.name("content")));
  }
  WEIR_TRY(message.name, fields.string("name"));
  WEIR_TRY(message.tool_call_id, fields.string("tool_call_id"));
  if (message.role == "assistant") {
    WEIR_TRY(const auto* calls, fields.array("tool_calls", kMaxTools));
    if (calls != nullptr) {
      WEIR_TRY(message.tool_calls, decode_tool_calls(*calls, fields.name("tool_calls")));
    }
    WEIR_TRY(message.reasoning_content, fields.string("reasoning_content"));
  }
  if (!message.content && message.tool_calls.empty()) {
    return missing(fields.name("content"), "only an assistant that calls tools may leave it out");
  }
  if (message.role == "tool" && !message.tool_call_id) return missing(fields.name("tool_call_id"));
  return message;
}

/// The tools as JSON texts, for the template; none when the client forbids calls.
Result<std::vector<std::string>> decode_tools(const Fields& fields) {
  std::vector<std::string> tools;
  WEIR_TRY(const auto* array, fields.array("tools", kMaxTools));
  if (array != nullptr) {
    for (const auto& tool : *array) {
      const std::string path = fmt::format("tools[{}]", tools.size());
      if (!tool.is_object()) return wrong_type(path, "an object", tool);
      const Fields outer(tool.get_object(), path);
      WEIR_TRY(const auto type, outer.string("type"));
      if (!type) return missing(outer.name("type"));
      if (*type != "function") {
        return fail(Code::kUnsupported,
                    fmt::format("{} can only be \"function\"", outer.name("type")),
                    outer.name("type"));
      }
      WEIR_TRY(const auto* function, outer.object("function"));
      if (function == nullptr) return missing(outer.name("function"));
      WEIR_TRY(const auto name, Fields(*function, outer.name("function")).string("name"));
      if (!name || name->empty()) return missing(outer.name("function.name"));
      tools.push_back(json::serialize(tool));
    }
  }
  const auto* choice = fields.find("tool_choice");
  if (choice == nullptr) return tools;
  const auto* word = choice->if_string();
  if (word != nullptr && *word == "none") return std::vector<std::string>();
  if (word != nullptr && *word == "auto") return tools;
  if (choice->is_object() || (word != nullptr && *word == "required")) {
    return fail(
        Code::kUnsupported,
        "tool_choice can only be \"none\" or \"auto\" for now: a forced call cannot be guaranteed",
        "tool_choice");
  }
  return fail(Code::kInvalidArgument,
              "tool_choice must be \"none\", \"auto\", \"required\" or a function", "tool_choice");
}

}  // namespace

Result<ChatRequest> decode_chat(std::string_view body, const DecodeContext& context) {
  json::monotonic_resource memory;
  WEIR_TRY(const auto document, parse_object(body, &memory));
  const Fields fields(document);
  ChatRequest request;
  WEIR_TRY(request.answer, decode_options(fields, context));

  WEIR_TRY(const auto* messages, fields.array("messages", kMaxMessages));
  if (messages == nullptr) return missing("messages");
  if (messages->empty()) {
    return fail(Code::kInvalidArgument, "messages is empty; at least one message is needed",
                "messages");
  }
  auto& conversation = request.conversation;
  conversation.messages.reserve(messages->size());
  for (const auto& value : *messages) {
    WEIR_TRY(auto message,
             decode_message(value, fmt::format("messages[{}]", conversation.messages.size())));
    conversation.messages.push_back(std::move(message));
  }
  WEIR_TRY(conversation.tools, decode_tools(fields));
  WEIR_TRY(const auto* arguments, fields.object("chat_template_kwargs"));
  if (arguments != nullptr) conversation.template_arguments = json::serialize(*arguments);
  WEIR_TRY(const auto open_turn, fields.boolean("add_generation_prompt"));
  conversation.add_generation_prompt = open_turn.value_or(true);
  WEIR_TRY(const auto echo, fields.boolean("echo"));
  if (echo.value_or(false))
    return fail(Code::kUnsupported, "echo is only for /v1/completions", "echo");

  WEIR_TRY(const auto logprobs, fields.boolean("logprobs"));
  WEIR_TRY(const auto top, fields.integer("top_logprobs", 0, kMaxTopLogprobs));
  if (logprobs.value_or(false)) {
    request.answer.top_logprobs = static_cast<std::int32_t>(top.value_or(0));
  } else if (top.value_or(0) > 0) {
    return fail(Code::kInvalidArgument, "top_logprobs is only allowed when logprobs is true",
                "top_logprobs");
  }
  return request;
}

}  // namespace weir::api
