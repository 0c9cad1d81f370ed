#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "weir/cli/chat_command.h"
#include "weir/cli/chat_file.h"
#include "weir/cli/chat_settings.h"
#include "weir/cli/terminal.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;

struct TemporaryFolder {
  std::filesystem::path path;
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "weir_chat_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file(const char* name) const { return (path / name).string(); }
};

std::string complaint(std::string_view line) {
  const auto parsed = parse_chat_line(line);
  return parsed ? "" : parsed.error().message;
}

TEST(ChatCommand, ALineIsAMessageUnlessItBeginsWithASlash) {
  EXPECT_EQ(parse_chat_line("hello /set")->action, ChatAction::kSay);
  EXPECT_EQ(parse_chat_line("//etc is a folder")->argument, "/etc is a folder");
  EXPECT_EQ(parse_chat_line("/quit ")->action, ChatAction::kQuit);
  EXPECT_EQ(parse_chat_line("/system  You are  terse. ")->argument, "You are  terse.");
  const auto set = parse_chat_line("/set top_p 0.5");
  EXPECT_EQ(set->argument, "top_p");
  EXPECT_EQ(set->value, "0.5");
}

TEST(ChatCommand, WhatIsWrongIsSaidWithAWayOut) {
  EXPECT_EQ(complaint("/hepl"), "there is no command /hepl; did you mean /help?");
  EXPECT_THAT(complaint("/zzzzzzz"), HasSubstr("/help lists them"));
  EXPECT_EQ(complaint("/save"), "/save needs a FILE");
  EXPECT_THAT(complaint("/set temperature"), HasSubstr("a name and a value"));
}

TEST(ChatSettings, ASettingShownIsASettingReadBack) {
  ChatSettings settings;
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"temperature", "0.7"},
                                                        {"top_k", "40"},
                                                        {"seed", "18446744073709551615"},
                                                        {"max_tokens", "5"},
                                                        {"verbose", "on"},
                                                        {"min_p", "0.05"}}) {
    ASSERT_TRUE(change_setting(settings, name, value, 100)) << name;
    EXPECT_EQ(show_setting(settings, name), value);
  }
  ChatSettings copy;
  for (std::string_view name : setting_names()) {
    ASSERT_TRUE(change_setting(copy, name, show_setting(settings, name), 100)) << name;
    EXPECT_EQ(show_setting(copy, name), show_setting(settings, name));
  }
}

TEST(ChatSettings, AWrongValueIsNamedAndChangesNothing) {
  ChatSettings settings;
  const auto error = [&](std::string_view name, std::string_view value) {
    const Status s = change_setting(settings, name, value, 100);
    return s ? std::string() : s.error().message;
  };
  EXPECT_THAT(error("temperature", "hot"), HasSubstr("temperature must be a number, not \"hot\""));
  EXPECT_THAT(error("temperature", "-1"), HasSubstr("temperature must be at least 0"));
  EXPECT_THAT(error("temperature", "nan"), HasSubstr("temperature must be"));
  EXPECT_THAT(error("top_p", "1.5"), HasSubstr("top_p must be above 0 and at most 1"));
  EXPECT_THAT(error("top_k", "1.5"), HasSubstr("whole number"));
  EXPECT_THAT(error("seed", "-1"), HasSubstr("seed"));
  EXPECT_THAT(error("max_tokens", "99999999999"), HasSubstr("max_tokens"));
  EXPECT_EQ(error("temprature", "1"),
            "there is no setting \"temprature\"; did you mean temperature?");
  EXPECT_EQ(show_setting(settings, "temperature"), "1");
  EXPECT_EQ(show_setting(settings, "top_p"), "1");
}

TEST(ChatFile, ASavedConversationLoadsAsItWas) {
  const TemporaryFolder folder;
  SavedChat chat{"smollm2", {}, {}};
  chat.settings.system = "Be \"brief\".\nAlways.";
  chat.settings.sampling.temperature = 0.25F;
  chat.settings.sampling.seed = 18446744073709551615ULL;
  chat.turns = {{"user", "héllo\t🎉", {}, {}, {}, {}}, {"assistant", "</s> \\ \"", {}, {}, {}, {}}};
  ASSERT_TRUE(save_chat(folder.file("a.json"), chat));
  const auto loaded = load_chat(folder.file("a.json"), {}, 100);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->model, "smollm2");
  EXPECT_EQ(loaded->settings.system, chat.settings.system);
  EXPECT_EQ(loaded->settings.sampling.temperature, 0.25F);
  EXPECT_EQ(loaded->settings.sampling.seed, chat.settings.sampling.seed);
  ASSERT_EQ(loaded->turns.size(), 2U);
  EXPECT_EQ(loaded->turns[0].content, "héllo\t🎉");
  EXPECT_EQ(loaded->turns[1].content, "</s> \\ \"");
}

TEST(ChatFile, AFileThatIsNoConversationIsOneClearLine) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& text) {
    std::ofstream(folder.file("x.json")) << text;
    const auto loaded = load_chat(folder.file("x.json"), {}, 100);
    return loaded ? std::string() : loaded.error().message;
  };
  EXPECT_THAT(error("hello"), HasSubstr("is not a saved conversation"));
  EXPECT_THAT(error("[]"), HasSubstr("missing"));
  EXPECT_THAT(error(R"({"weir_chat":2,"messages":[]})"), HasSubstr("version"));
  EXPECT_THAT(error(R"({"weir_chat":1,"messages":[{"role":"user"}]})"), HasSubstr("message 1"));
  EXPECT_THAT(error(R"({"weir_chat":1,"messages":[{"role":"assistant","content":""}]})"),
              HasSubstr("role user"));
  EXPECT_THAT(error(R"({"weir_chat":1,"messages":[{"role":"user","content":""}]})"),
              HasSubstr("no answer"));
  EXPECT_THAT(error(R"({"weir_chat":1,"messages":[],"settings":{"top_p":"7"}})"),
              HasSubstr("top_p"));
  EXPECT_THAT(error(std::string(10000, '[')), HasSubstr("is not a saved conversation"));
  EXPECT_EQ(load_chat(folder.file("none.json"), {}, 100).error().code, Code::kNotFound);
}

TEST(Terminal, WhatAModelSaysCannotDriveATerminal) {
  EXPECT_EQ(harmless("a\x1b]0;title\x07 b\r\n\tc\x7f"), "a]0;title b\n\tc");
  EXPECT_EQ(harmless("\xc2\x9b[2J naïve 🎉"), "[2J naïve 🎉");  // C1 control U+009B.
}

}  // namespace
}  // namespace weir::cli
