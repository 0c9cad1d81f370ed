#include "weir/load/event_reader.h"

#include <algorithm>
#include <boost/json.hpp>
#include <limits>

namespace weir::load {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxEventBytes = std::size_t{4} << 20;

/// Where the value of the member `name` begins, or npos. A quote inside a JSON string is escaped,
/// so
/// `"name":` with its quotes bare is a member and never text.
std::size_t value_of(std::string_view data, std::string_view quoted_name, std::size_t from = 0) {
  while (true) {
    const std::size_t at = data.find(quoted_name, from);
    if (at == std::string_view::npos) return at;
    std::size_t value = at + quoted_name.size();
    while (value < data.size() && data[value] == ' ') ++value;
    const bool escaped = at > 0 && data[at - 1] == '\\';
    if (!escaped && value < data.size() && data[value] == ':') {
      ++value;
      while (value < data.size() && data[value] == ' ') ++value;
      return value;
    }
    from = at + 1;
  }
}

bool has_string(std::string_view data, std::string_view quoted_name) {
  const std::size_t at = value_of(data, quoted_name);
  return at != std::string_view::npos && at + 1 < data.size() && data[at] == '"' &&
         data[at + 1] != '"';
}

std::optional<json::value> parse(std::string_view data) {
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = 32;
  json::value value = json::parse(data, error, {}, options);
  if (error || !value.is_object()) return std::nullopt;
  return value;
}

std::uint32_t count(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr) return 0;
  boost::system::error_code error;
  const auto number = value->to_number<std::int64_t>(error);
  if (error || number < 0) return 0;
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>(number, std::numeric_limits<std::int32_t>::max()));
}

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, 300));
  std::ranges::replace_if(line, [](char c) { return c >= 0 && c < ' '; }, ' ');
  return line;
}

}  // namespace

Result<std::optional<std::string_view>> EventReader::next(std::string_view& bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      if (partial_.size() + bytes.size() > kMaxEventBytes) {
        return fail(Code::kTooLarge, "an event of the answer is over 4 MiB");
      }
      partial_ += bytes;
      bytes = {};
      break;
    }
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (!partial_.empty()) {
      whole_ = std::move(partial_);
      partial_.clear();
      whole_ += line;
      line = whole_;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.starts_with("data:")) continue;  // Comments keep connections alive.
    line.remove_prefix(5);
    if (line.starts_with(' ')) line.remove_prefix(1);
    return line;
  }
  return std::nullopt;
}

bool holds_text(std::string_view data) {
  if (has_string(data, "\"content\"") || has_string(data, "\"text\"") ||
      has_string(data, "\"reasoning_content\"") || has_string(data, "\"reasoning\"")) {
    return true;
  }
  const std::size_t calls = value_of(data, "\"tool_calls\"");
  return calls != std::string_view::npos && data.substr(calls).starts_with("[{");
}

std::optional<Usage> usage_of(std::string_view data) {
  const std::size_t at = value_of(data, "\"usage\"");
  if (at == std::string_view::npos || at >= data.size() || data[at] != '{') return std::nullopt;
  const auto document = parse(data);
  if (!document) return std::nullopt;
  const auto* usage = document->get_object().if_contains("usage");
  if (usage == nullptr || !usage->is_object()) return std::nullopt;
  const json::object& fields = usage->get_object();
  Usage found;
  found.prompt_tokens = count(fields, "prompt_tokens");
  found.completion_tokens = count(fields, "completion_tokens");
  const auto* details = fields.if_contains("prompt_tokens_details");
  if (details != nullptr && details->is_object()) {
    found.cached_tokens = count(details->get_object(), "cached_tokens");
  }
  return found;
}

std::optional<std::string> error_of(std::string_view data) {
  const std::size_t at = value_of(data, "\"error\"");
  if (at == std::string_view::npos || data.substr(at).starts_with("null")) return std::nullopt;
  const auto document = parse(data);
  if (!document) return one_line(data);
  const auto* error = document->get_object().if_contains("error");
  if (error == nullptr) return std::nullopt;
  if (error->is_string()) return one_line(error->get_string());
  const auto* object = error->if_object();
  const auto* message = object != nullptr ? object->if_contains("message") : nullptr;
  if (message != nullptr && message->is_string()) return one_line(message->get_string());
  return one_line(json::serialize(*error));
}

std::string text_of(std::string_view data) {
  const auto document = parse(data);
  if (!document) return {};
  const auto* choices = document->get_object().if_contains("choices");
  if (choices == nullptr || !choices->is_array() || choices->get_array().empty()) return {};
  const auto* choice = choices->get_array().front().if_object();
  if (choice == nullptr) return {};
  const auto* delta = choice->if_contains("delta");
  const auto* text = delta != nullptr && delta->is_object()
                         ? delta->get_object().if_contains("content")
                         : choice->if_contains("text");
  return text != nullptr && text->is_string() ? std::string(text->get_string()) : std::string();
}

}  // namespace weir::load
