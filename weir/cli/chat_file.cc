#include "weir/cli/chat_file.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <utility>

#include "weir/base/utf8.h"
#include "weir/sys/files.h"
#include "weir/sys/mapped_file.h"

namespace weir::cli {
namespace {

namespace json = boost::json;

std::unexpected<Error> wrong(const std::string& path, std::string_view what) {
  return fail(Code::kCorrupt, fmt::format("{} is not a saved conversation: {}", path, what), path);
}

Result<std::string> text_of(const json::value& value, const std::string& path, const char* what) {
  if (!value.is_string()) return wrong(path, fmt::format("{} is not a text", what));
  return utf8::sanitize({value.get_string().data(), value.get_string().size()});
}

Status read_settings(const json::value& value, const std::string& path, std::int32_t vocabulary,
                     ChatSettings& settings) {
  if (!value.is_object()) return wrong(path, "\"settings\" is not an object");
  for (const auto& member : value.get_object()) {
    const std::string name(member.key());
    WEIR_TRY(const std::string text, text_of(member.value(), path, name.c_str()));
    WEIR_TRY_STATUS(change_setting(settings, name, text, vocabulary));
  }
  return {};
}

Status read_messages(const json::value& value, const std::string& path, SavedChat& chat) {
  if (!value.is_array()) return wrong(path, "\"messages\" is not an array");
  chat.settings.system.clear();
  std::size_t number = 0;
  for (const json::value& message : value.get_array()) {
    ++number;
    const json::object* object = message.if_object();
    const json::value* role = object == nullptr ? nullptr : object->if_contains("role");
    const json::value* content = object == nullptr ? nullptr : object->if_contains("content");
    if (role == nullptr || content == nullptr) {
      return wrong(path, fmt::format("message {} has no role or no content", number));
    }
    WEIR_TRY(std::string role_text, text_of(*role, path, "a role"));
    WEIR_TRY(std::string content_text, text_of(*content, path, "a content"));
    if (role_text == "system" && number == 1) {
      chat.settings.system = std::move(content_text);
      continue;
    }
    const char* expected = chat.turns.size() % 2 == 0 ? "user" : "assistant";
    if (role_text != expected) {
      return wrong(path, fmt::format("message {} should be of role {}, not \"{}\"", number,
                                     expected, role_text));
    }
    chat.turns.push_back({std::move(role_text), std::move(content_text), {}, {}, {}, {}});
  }
  if (chat.turns.size() % 2 != 0) return wrong(path, "the last message has no answer");
  return {};
}

}  // namespace

Status save_chat(const std::string& path, const SavedChat& chat) {
  json::object settings;
  for (std::string_view name : setting_names()) {
    settings[json::string_view(name.data(), name.size())] = show_setting(chat.settings, name);
  }
  json::array messages;
  if (!chat.settings.system.empty()) {
    messages.push_back({{"role", "system"}, {"content", chat.settings.system}});
  }
  for (const ChatMessage& turn : chat.turns) {
    messages.push_back({{"role", turn.role}, {"content", turn.content.value_or("")}});
  }
  // One message a line: a conversation is read and compared by people.
  std::string text =
      fmt::format("{{\"weir_chat\": 1,\n \"model\": {},\n \"settings\": {},\n \"messages\": [\n",
                  json::serialize(json::value(chat.model)), json::serialize(settings));
  for (std::size_t i = 0; i < messages.size(); ++i) {
    text +=
        fmt::format("  {}{}\n", json::serialize(messages[i]), i + 1 < messages.size() ? "," : "");
  }
  text += " ]}\n";
  return sys::write_file_durably(path, text);
}

Result<SavedChat> load_chat(const std::string& path, const ChatSettings& current,
                            std::int32_t vocabulary) {
  WEIR_TRY(const std::string text, sys::read_file(path, kMaxChatFile));
  json::error_code error;
  json::parse_options bounds;
  bounds.max_depth = 8;
  const json::value parsed = json::parse(text, error, {}, bounds);
  if (error) return wrong(path, error.message());
  const json::object* object = parsed.if_object();
  const json::value* version = object == nullptr ? nullptr : object->if_contains("weir_chat");
  const json::value* messages = object == nullptr ? nullptr : object->if_contains("messages");
  if (version == nullptr || messages == nullptr) {
    return wrong(path, "\"weir_chat\" or \"messages\" is missing");
  }
  if (*version != json::value(1)) return wrong(path, "it is of another version");
  SavedChat chat;
  chat.settings = current;
  if (const json::value* model = object->if_contains("model")) {
    WEIR_TRY(chat.model, text_of(*model, path, "\"model\""));
  }
  if (const json::value* settings = object->if_contains("settings")) {
    WEIR_TRY_STATUS(read_settings(*settings, path, vocabulary, chat.settings));
  }
  WEIR_TRY_STATUS(read_messages(*messages, path, chat));
  return chat;
}

}  // namespace weir::cli
