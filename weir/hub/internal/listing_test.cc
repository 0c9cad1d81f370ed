#include "weir/hub/internal/listing.h"

#include <gtest/gtest.h>

namespace weir::hub {
namespace {

using Files = std::vector<std::string>;

std::string main_of(const Files& files, const std::string& wanted = {}) {
  const auto choice = choose(files, wanted);
  return choice ? choice->main : "refused";
}

TEST(Listing, TheCommitAndTheNamesAreRead) {
  const auto listing = parse_listing(R"({"sha":"0123456789abcdef0123456789abcdef01234567","x":[1],
      "siblings":[{"rfilename":"a","size":1},{"rfilename":"b/c"}]})");
  ASSERT_TRUE(listing.has_value()) << listing.error().message;
  EXPECT_EQ(listing->files, (Files{"a", "b/c"}));
}

TEST(Listing, WhatIsNoListIsCorrupt) {
  for (const char* text :
       {"", "[]", "{}", "{", R"({"sha":1,"siblings":[]})", R"({"sha":"main","siblings":[]})",
        R"({"sha":"0123456789abcdef0123456789abcdef01234567","siblings":[1]})",
        R"({"sha":"0123456789abcdef0123456789abcdef01234567","siblings":[{"rfilename":1}]})"}) {
    const auto listing = parse_listing(text);
    ASSERT_FALSE(listing.has_value()) << text;
    EXPECT_EQ(listing.error().code, Code::kCorrupt);
  }
  EXPECT_FALSE(parse_listing(std::string(100'000, '[')).has_value());
}

TEST(Choice, TheOnlyGgufIsTaken) {
  EXPECT_EQ(main_of({"README.md", "x.gguf", "config.json"}), "x.gguf");
}

TEST(Choice, OfSeveralTheBestForItsSizeIsTaken) {
  EXPECT_EQ(main_of({"m.Q8_0.gguf", "m.Q4_K_M.gguf", "m.Q4_0.gguf"}), "m.Q4_K_M.gguf");
  EXPECT_EQ(main_of({"m-q8_0.gguf", "m-q4_0.gguf"}), "m-q4_0.gguf");
  EXPECT_EQ(main_of({"m-f16.gguf", "m-q8_0.gguf"}), "m-q8_0.gguf");
}

TEST(Choice, ATagIsAWholeWord) {
  EXPECT_EQ(main_of({"m-Q4_K_M.gguf", "m-Q4_K_S.gguf"}, "q4_k_s"), "m-Q4_K_S.gguf");
  EXPECT_EQ(main_of({"m-Q4_K_M.gguf"}, "Q4_K"), "refused");
}

TEST(Choice, ProjectorsAndShardsAreNoModels) {
  EXPECT_EQ(main_of({"mmproj-model.gguf", "m.gguf"}), "m.gguf");
  EXPECT_EQ(main_of({"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}), "refused");
}

TEST(Choice, SeveralModelsOfOneKindAreForThePersonToChooseFrom) {
  const auto choice = choose({"a-Q4_0.gguf", "b-Q4_0.gguf"}, "");
  ASSERT_FALSE(choice.has_value());
  EXPECT_NE(choice.error().message.find("a-Q4_0.gguf, b-Q4_0.gguf"), std::string::npos);
}

TEST(Choice, SafetensorsComeAsAFolderWithWhatTheyNeed) {
  const auto choice = choose(
      {"model.safetensors", "config.json", "tokenizer.json", "pytorch_model.bin", "x.py"}, "");
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->main, "");
  EXPECT_EQ(choice->files, (Files{"model.safetensors", "config.json", "tokenizer.json"}));
}

TEST(Choice, ShardsNeedTheirIndexAndWeightsTheirConfig) {
  const Files shards{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                     "config.json"};
  EXPECT_EQ(choose(shards, "").error().code, Code::kNotFound);
  Files whole = shards;
  whole.emplace_back("model.safetensors.index.json");
  EXPECT_EQ(choose(whole, "")->files.size(), 4U);
  EXPECT_EQ(choose({"model.safetensors"}, "").error().code, Code::kNotFound);
}

TEST(Choice, AFileIsTakenByItsNameOrTheNearestIsNamed) {
  EXPECT_EQ(main_of({"a/b.gguf"}, "a/b.gguf"), "a/b.gguf");
  EXPECT_NE(choose({"model.gguf"}, "modle.gguf").error().message.find("did you mean model.gguf"),
            std::string::npos);
}

TEST(Choice, ANameThatWouldLeaveTheFolderIsCorrupt) {
  EXPECT_EQ(choose({"../x.gguf"}, "").error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace weir::hub
