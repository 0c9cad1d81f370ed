#include "weir/hub/resolve.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "weir/hub/catalogue.h"
#include "weir/hub/names.h"

namespace weir::hub {
namespace {

/// A folder of its own, made the current one, with a cache in it and nothing to fetch with.
class Resolve : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/weir_resolve_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    std::filesystem::current_path(root_);
    places_.cache = root_ + "/cache";
    places_.hugging_face_cache = root_ + "/hf";
    places_.endpoint = "http://127.0.0.1:9";
    places_.python = "weir-no-such-python";
    places_.free_bytes = [](const std::string&) { return std::uint64_t{1} << 40; };
  }
  void TearDown() override {
    std::filesystem::current_path("/");
    std::filesystem::remove_all(root_);
  }
  [[nodiscard]] Result<std::string> resolve_here(const std::string& model) const {
    return resolve(model, options_, places_);
  }
  [[nodiscard]] Code code_of(const std::string& model) const {
    const auto path = resolve_here(model);
    return path ? Code::kInternal : path.error().code;
  }
  void touch(const std::string& name) const { std::ofstream(root_ + "/" + name) << "x"; }

  std::string root_;
  Places places_;
  ResolveOptions options_;
};

TEST_F(Resolve, ASlashADotOrAFileOfThatNameIsAPath) {
  touch("smollm2.gguf");
  EXPECT_EQ(resolve_here("smollm2.gguf").value(), "smollm2.gguf");
  EXPECT_EQ(resolve_here("./smollm2.gguf").value(), "./smollm2.gguf");
  touch("mine");
  EXPECT_EQ(resolve_here("mine").value(), "mine");
  std::filesystem::create_directory("folder");
  EXPECT_EQ(resolve_here("./folder").value(), "./folder");
}

TEST_F(Resolve, AFolderNamedLikeAModelDoesNotHideIt) {
  options_.allow_pull = false;
  std::filesystem::create_directory("smollm2");
  EXPECT_EQ(code_of("smollm2"), Code::kNotFound);
  touch("smollm2/x");
  EXPECT_EQ(resolve_here("./smollm2").value(), "./smollm2");
}

TEST_F(Resolve, AMissingPathIsNotFoundAndAHubNameIsHintedAt) {
  EXPECT_EQ(code_of("none.gguf"), Code::kNotFound);
  EXPECT_NE(resolve_here("owner/repo").error().message.find("hf:owner/repo"), std::string::npos);
  EXPECT_EQ(resolve_here("/owner/repo").error().message.find("hf:"), std::string::npos);
  EXPECT_EQ(code_of(""), Code::kInvalidArgument);
}

TEST_F(Resolve, WithoutLeaveToPullAModelThatIsNotHereSaysHow) {
  options_.allow_pull = false;
  for (const char* model : {"smollm2", "hf:owner/repo"}) {
    const auto path = resolve_here(model);
    ASSERT_FALSE(path.has_value());
    EXPECT_EQ(path.error().code, Code::kNotFound);
    EXPECT_NE(path.error().message.find(std::string("weir pull ") + model), std::string::npos);
  }
}

TEST_F(Resolve, TooLittleRoomIsRefusedWithTheArithmetic) {
  places_.free_bytes = [](const std::string&) { return std::uint64_t{50'000'000}; };
  const auto path = resolve_here("smollm2");
  ASSERT_FALSE(path.has_value());
  EXPECT_EQ(path.error().code, Code::kExhausted);
  EXPECT_NE(path.error().message.find("50.0 MB free"), std::string::npos) << path.error().message;
}

TEST_F(Resolve, AModelOverTheBoundIsRefused) {
  options_.max_bytes = 1000;
  EXPECT_EQ(code_of("smollm2"), Code::kTooLarge);
}

TEST_F(Resolve, WithoutPythonItSaysWhatToInstall) {
  const auto path = resolve_here("smollm2");
  ASSERT_FALSE(path.has_value());
  EXPECT_NE(path.error().message.find("python3-pip"), std::string::npos);
}

TEST_F(Resolve, EveryStageIsToldAndCancellingEndsIt) {
  std::vector<Stage> stages;
  options_.progress = [&](const Progress& progress) { stages.push_back(progress.stage); };
  options_.cancelled = [] { return true; };
  EXPECT_EQ(code_of("hf:owner/repo:x.gguf"), Code::kCancelled);
  EXPECT_EQ(stages.front(), Stage::kAsking);
}

TEST(Catalogue, EveryEntryIsWholeAndItsNamesAreSafe) {
  std::set<std::string_view> names;
  for (const auto& model : catalogue()) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    EXPECT_EQ(model.name.find_first_of("/.:"), std::string_view::npos) << "would be read as a path";
    EXPECT_FALSE(model.description.empty());
    EXPECT_FALSE(model.licence.empty());
    EXPECT_FALSE(model.files.empty());
    for (const auto& file : model.files) {
      EXPECT_EQ(file.sha256.size(), 64U);
      EXPECT_TRUE(check_relative_path(file.name).has_value());
      EXPECT_LE(file.first_package + file.parts, model.packages.size());
      EXPECT_GT(file.bytes, 0U);
    }
    EXPECT_EQ(find_in_catalogue(model.name), &model);
  }
  EXPECT_EQ(find_in_catalogue("none"), nullptr);
}

TEST(Places, TheEnvironmentIsReadAsTheHubsClientReadsIt) {
  ::setenv("HOME", "/home/someone", 1);
  for (const char* name :
       {"XDG_CACHE_HOME", "WEIR_CACHE", "HF_HOME", "HF_HUB_CACHE", "HF_TOKEN", "HF_ENDPOINT",
        "HUGGING_FACE_HUB_TOKEN", "HF_HUB_OFFLINE", "HF_TOKEN_PATH", "HF_HUB_DOWNLOAD_TIMEOUT"}) {
    ::unsetenv(name);
  }
  EXPECT_EQ(Places::from_environment()->cache, "/home/someone/.cache/weir");
  EXPECT_EQ(Places::from_environment()->hugging_face_cache, "/home/someone/.cache/huggingface/hub");
  ::setenv("HF_HOME", "/hf", 1);
  ::setenv("WEIR_CACHE", "/w", 1);
  ::setenv("HF_HUB_OFFLINE", "yes", 1);
  ::setenv("HF_TOKEN", " t\n", 1);
  ::setenv("HF_ENDPOINT", "http://h/", 1);
  EXPECT_EQ(Places::from_environment()->cache, "/w");
  EXPECT_EQ(Places::from_environment()->hugging_face_cache, "/hf/hub");
  EXPECT_TRUE(Places::from_environment()->offline);
  EXPECT_EQ(Places::from_environment()->token, "t");
  EXPECT_EQ(Places::from_environment()->endpoint, "http://h");
  ::setenv("HF_HUB_DOWNLOAD_TIMEOUT", "soon", 1);
  EXPECT_FALSE(Places::from_environment().has_value());
}

}  // namespace
}  // namespace weir::hub
