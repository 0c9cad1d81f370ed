#include "weir/hub/names.h"

#include <gtest/gtest.h>

#include <array>

namespace weir::hub {
namespace {

std::string read(std::string_view text) {
  const auto reference = parse_hub_reference(text);
  if (!reference) return "refused";
  return reference->repo + "|" + reference->file + "|" + reference->revision;
}

TEST(Names, AReferenceHasARepositoryMaybeAFileMaybeARevision) {
  EXPECT_EQ(read("hf:a/b"), "a/b||main");
  EXPECT_EQ(read("hf:a/b:q.gguf"), "a/b|q.gguf|main");
  EXPECT_EQ(read("hf:a/b:dir/q.gguf@v1"), "a/b|dir/q.gguf|v1");
  EXPECT_EQ(read("hf:a/b@refs/pr/1"), "a/b||refs/pr/1");
  EXPECT_EQ(read("hf:a/b:odd@name.gguf@main"), "a/b|odd@name.gguf|main");
}

TEST(Names, AReferenceIsWrittenBackAsItWasRead) {
  for (const char* text : {"hf:a/b", "hf:a/b:q.gguf", "hf:a/b:Q4_K_M@v1", "hf:a/b@v1"}) {
    EXPECT_EQ(parse_hub_reference(text)->text(), text);
  }
}

TEST(Names, WhatCouldLeaveItsPlaceIsRefused) {
  for (const char* text :
       {"hf:",        "hf:a",      "hf:/b",       "hf:a/",     "hf:a/b/c",  "hf:../b",
        "hf:a/..",    "hf:a/.b",   "hf:a/b-",     "hf:a--b/c", "hf:a/b:",   "hf:a/b:../x",
        "hf:a/b:/x",  "hf:a/b:x/", "hf:a/b:x\\y", "hf:a/b@",   "hf:a/b@..", "hf:a/b@/x",
        "hf:a/b@x y", "hf:a b/c",  "hf:a/b:x\ny"}) {
    EXPECT_EQ(read(text), "refused") << text;
  }
}

TEST(Names, ARelativePathHasPlainPartsOnly) {
  for (const char* good : {"a", "a/b.c", ".hidden/x", "\xC3\xA9/...", "a b"}) {
    EXPECT_TRUE(check_relative_path(good).has_value()) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"),
        std::string("../a"), std::string("a/.."), std::string("./a"), std::string("a\0b", 3),
        std::string("a\x7F"), std::string("\xFF"), std::string(256, 'a')}) {
    EXPECT_FALSE(check_relative_path(bad).has_value()) << bad;
  }
  std::string deep = "a";
  for (int i = 0; i < 16; ++i) deep += "/a";
  EXPECT_FALSE(check_relative_path(deep).has_value());
}

TEST(Names, AMessageCannotDriveATerminal) {
  EXPECT_EQ(escape_controls("a\x1b[2J\n\xFF"), "a\\x1b[2J\\x0a\xEF\xBF\xBD");
}

TEST(Names, AnEtagBecomesAFileNameAndNeverAPath) {
  EXPECT_EQ(as_file_name("abc-123"), "abc-123");
  for (const char* hostile : {"", "..", ".x", "a/b", "a b", "\x01"})
    EXPECT_EQ(as_file_name(hostile).size(), 64U) << hostile;
}

TEST(Names, TheNearestIsWhatWasMeantOrNothing) {
  constexpr std::array<std::string_view, 3> kNames{"smollm2", "gemma3-270m", "all-minilm-l6-v2"};
  EXPECT_EQ(nearest("smolm2", kNames), "smollm2");
  EXPECT_EQ(nearest("SMOLLM2", kNames), "smollm2");
  EXPECT_EQ(nearest("somllm2", kNames), "smollm2");
  EXPECT_EQ(nearest("gemma3", kNames), "gemma3-270m");
  EXPECT_EQ(nearest("gpt-oss-120b", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
}

}  // namespace
}  // namespace weir::hub
