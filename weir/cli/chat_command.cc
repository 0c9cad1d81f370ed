#include "weir/cli/chat_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "weir/hub/names.h"

namespace weir::cli {
namespace {

struct Known {
  std::string_view name;
  ChatAction action;
  const char* wants;  // The argument it cannot do without, or nullptr.
};

constexpr Known kKnown[] = {
    {"/help", ChatAction::kHelp, nullptr},     {"/?", ChatAction::kHelp, nullptr},
    {"/system", ChatAction::kSystem, nullptr}, {"/reset", ChatAction::kReset, nullptr},
    {"/set", ChatAction::kSet, nullptr},       {"/stats", ChatAction::kStats, nullptr},
    {"/save", ChatAction::kSave, "FILE"},      {"/load", ChatAction::kLoad, "FILE"},
    {"/quit", ChatAction::kQuit, nullptr},     {"/exit", ChatAction::kQuit, nullptr},
    {"/bye", ChatAction::kQuit, nullptr},
};

constexpr std::string_view kSpace = " \t\r\n";

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

/// The first word, which is taken off `text`.
std::string_view take_word(std::string_view& text) {
  const auto end = std::min(text.find_first_of(kSpace), text.size());
  const std::string_view word = text.substr(0, end);
  text = trim(text.substr(end));
  return word;
}

}  // namespace

Result<ChatCommand> parse_chat_line(std::string_view line) {
  if (!line.starts_with('/')) return ChatCommand{ChatAction::kSay, std::string(line), {}};
  if (line.starts_with("//")) return ChatCommand{ChatAction::kSay, std::string(line.substr(1)), {}};
  std::string_view rest = trim(line);
  const std::string_view word = take_word(rest);
  for (const Known& known : kKnown) {
    if (known.name != word) continue;
    if (known.wants != nullptr && rest.empty()) {
      return fail(Code::kInvalidArgument, fmt::format("{} needs a {}", word, known.wants));
    }
    if (known.action != ChatAction::kSet) return ChatCommand{known.action, std::string(rest), {}};
    const std::string_view name = take_word(rest);
    if (!name.empty() && rest.empty()) {
      return fail(Code::kInvalidArgument,
                  fmt::format("/set needs a name and a value, as in /set temperature 0.7"));
    }
    return ChatCommand{ChatAction::kSet, std::string(name), std::string(rest)};
  }
  std::vector<std::string_view> names;
  for (const Known& known : kKnown) names.push_back(known.name);
  const std::string_view close = hub::nearest(word, names);
  return fail(Code::kInvalidArgument,
              close.empty() ? fmt::format("there is no command {}; /help lists them", word)
                            : fmt::format("there is no command {}; did you mean {}?", word, close));
}

std::string_view chat_help() {
  return "  /system TEXT     the system message of this conversation; alone, shows it\n"
         "  /set NAME VALUE  temperature, top_p, seed, max_tokens and others; alone, shows all\n"
         "  /reset           start the conversation over\n"
         "  /stats           the last answer's times, and how full the context is\n"
         "  /save FILE       write the conversation as JSON\n"
         "  /load FILE       take up a saved conversation\n"
         "  /quit            leave; so does Ctrl-D\n"
         "\n"
         "  \"\"\"              begins and ends a message of several lines; so does a \\ at the "
         "end of one\n"
         "  //TEXT           says a message that begins with /\n"
         "  Ctrl-C           stops the answer; at an empty prompt, twice, leaves\n";
}

}  // namespace weir::cli
