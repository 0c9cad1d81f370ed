#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "weir/format/model_file.h"
#include "weir/format/testing/gguf_bytes.h"
#include "weir/format/testing/safetensors_bytes.h"
#include "weir/format/testing/temporary_directory.h"

namespace weir::format {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::GgufBytes;
using ::testing::HasSubstr;
using testing::safetensors_bytes;
using testing::small_safetensors;
using testing::TemporaryDirectory;

constexpr const char* kConfig =
    R"({"model_type":"llama","hidden_size":64,"rope_theta":10000.0,"tie":true,)"
    R"("rope_scaling":{"type":"linear","factors":[1,2.5]},"eos":[1,2],"sliding":null,)"
    R"("names":["a","b"],"mixed":[1,"x"],"parts":[{"k":1}]})";

std::string one_tensor(const std::string& name) {
  return safetensors_bytes("{\"" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                           "x");
}

Error error_of(const std::string& path) {
  const auto file = open_model_file(path);
  EXPECT_FALSE(file) << path;
  if (file) return {};
  EXPECT_THAT(file.error().message, ::testing::Not(HasSubstr("\n")));
  EXPECT_THAT(file.error().message, HasSubstr(path.substr(0, 20)));
  return file.error();
}

TEST(OpenModelFile, TellsGgufAndSafetensorsApartByContentNotByName) {
  const TemporaryDirectory d;
  GgufBytes gguf;
  gguf.put("k", "v");
  const auto a = open_model_file(d.write("weights.safetensors", gguf.text_bytes()));
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ((*a)->container(), "GGUF v3");
  EXPECT_EQ((*a)->sidecar("config.json"), std::nullopt);
  const auto b = open_model_file(d.write("model.gguf", small_safetensors()));
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ((*b)->container(), "safetensors");
  EXPECT_NE((*b)->tensor("a"), nullptr);
}

TEST(OpenModelFile, AHuggingFaceDirectoryGivesConfigTensorsAndSidecars) {
  const TemporaryDirectory d;
  d.write("config.json", kConfig);
  d.write("tokenizer.json", "{}");
  const std::string weights = d.write("model.safetensors", small_safetensors());
  for (const std::string& path : {d.path(), d.path() + "/", weights}) {
    const auto file = open_model_file(path);
    ASSERT_TRUE(file) << file.error().message;
    const ModelFile& m = **file;
    EXPECT_EQ(m.text("model_type"), "llama");
    EXPECT_EQ(m.integer("hidden_size"), 64U);
    EXPECT_EQ(m.number("rope_theta"), 10000.0);
    EXPECT_EQ(m.boolean("tie"), true);
    EXPECT_EQ(m.text("rope_scaling.type"), "linear");
    EXPECT_THAT(*m.array<double>("rope_scaling.factors"), ElementsAre(1, 2.5));
    EXPECT_THAT(*m.array<std::int64_t>("eos"), ElementsAre(1, 2));
    EXPECT_THAT(*m.array<std::string>("names"), ElementsAre("a", "b"));
    EXPECT_FALSE(m.metadata().contains("sliding"));
    EXPECT_EQ(m.text("mixed.1"), "x");
    EXPECT_EQ(m.integer("parts.0.k"), 1U);
    EXPECT_EQ(m.sidecar("tokenizer.json"), "{}");
    EXPECT_EQ(m.sidecar("generation_config.json"), std::nullopt);
    EXPECT_EQ(
        m.sidecar("../" + std::filesystem::path(d.path()).filename().string() + "/config.json"),
        std::nullopt);
    EXPECT_EQ(m.sidecar(".."), std::nullopt);
  }
}

TEST(OpenModelFile, ShardsAreJoinedAsTheIndexSays) {
  const TemporaryDirectory d;
  d.write("config.json", "{}");
  d.write("s1.safetensors", one_tensor("a"));
  d.write("s2.safetensors", one_tensor("b"));
  d.write("model.safetensors.index.json",
          R"({"metadata":{},"weight_map":{"a":"s1.safetensors","b":"s2.safetensors"}})");
  const auto file = open_model_file(d.path());
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ((*file)->tensors().size(), 2U);
  EXPECT_EQ((*file)->tensor("b")->data.front(), std::byte{'x'});
  EXPECT_EQ((*file)->file_bytes(), one_tensor("a").size() * 2);
}

TEST(OpenModelFile, AnIndexThatLiesIsRefused) {
  const TemporaryDirectory d;
  d.write("config.json", "{}");
  d.write("s1.safetensors", one_tensor("a"));
  const auto with = [&](const std::string& map) {
    d.write("model.safetensors.index.json", map);
    return error_of(d.path()).message;
  };
  EXPECT_THAT(with(R"({"weight_map":{"b":"s1.safetensors"}})"),
              HasSubstr("s1.safetensors holds tensor 'b', but it"));
  EXPECT_THAT(with(R"({"weight_map":{"a":"absent.safetensors"}})"),
              HasSubstr("absent.safetensors: No such file"));
  for (const char* escape :
       {"../x", "/etc/passwd", "a/b", "..", "", ".hidden", "a\\\\b", "a\\u0000b"}) {
    EXPECT_THAT(with(std::string(R"({"weight_map":{"a":")") + escape + "\"}}"),
                HasSubstr("a name within the directory"))
        << escape;
  }
  EXPECT_THAT(with(R"({"weight_map":{"a":3}})"), HasSubstr("a name within the directory"));
  EXPECT_THAT(with(R"({"weight_map":{}})"), HasSubstr("no weight_map"));
  EXPECT_THAT(with("[]"), HasSubstr("no weight_map"));
  EXPECT_THAT(with("{"), HasSubstr("not valid JSON"));
  d.write("s2.safetensors", one_tensor("a"));
  d.write("s3.safetensors",
          safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                            R"("c":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                            "xx"));
  EXPECT_THAT(with(R"({"weight_map":{"a":"s2.safetensors","c":"s3.safetensors"}})"),
              HasSubstr("'a' is listed twice"));
}

TEST(OpenModelFile, AConfigThatIsNoConfigIsRefused) {
  const TemporaryDirectory d;
  d.write("model.safetensors", small_safetensors());
  EXPECT_THAT(error_of(d.path()).message, HasSubstr("no config.json"));
  const auto with = [&](const std::string& text) {
    d.write("config.json", text);
    return error_of(d.path()).message;
  };
  EXPECT_THAT(with("{\"a\":"), HasSubstr("config.json: not valid JSON at offset 5"));
  EXPECT_THAT(with("{} x"), HasSubstr("not valid JSON"));
  EXPECT_THAT(with("[1]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(with(std::string(100, '[')), HasSubstr("not valid JSON"));
  EXPECT_THAT(with("{\"" + std::string(600, 'k') + "\":1}"), HasSubstr("over 512 bytes"));
  std::string many = "{\"a\":[[]";
  for (int i = 0; i < 100'001; ++i) many += ",[]";
  EXPECT_THAT(with(many + "]}"), HasSubstr("more than 100000 values"));
}

TEST(OpenModelFile, WhatIsNoModelIsCalledByItsName) {
  const TemporaryDirectory d;
  const auto with = [&](std::string_view bytes) { return error_of(d.write("f", bytes)); };
  EXPECT_EQ(error_of(d.path() + "/absent").code, Code::kNotFound);
  EXPECT_EQ(error_of(d.path()).code, Code::kNotFound);
  EXPECT_THAT(error_of(d.path()).message, HasSubstr("a directory without a model"));
  EXPECT_THAT(with("").message, HasSubstr("is empty"));
  EXPECT_THAT(with("version https://git-lfs.github.com/spec/v1\noid sha256:00\n").message,
              HasSubstr("git lfs pull"));
  EXPECT_THAT(with("\n<!DOCTYPE html><html>").message, HasSubstr("web page"));
  EXPECT_THAT(with("<HTML lang=en>").message, HasSubstr("web page"));
  EXPECT_THAT(with("hello\nworld").message,
              HasSubstr("is a text file, not a model; it begins 'hello\\nworld'"));
  EXPECT_THAT(with("PK\x03\x04....").message, HasSubstr("PyTorch checkpoint"));
  EXPECT_THAT(with("\x80\x02}q").message, HasSubstr("pickle"));
  EXPECT_THAT(with("\x1f\x8b\x08").message, HasSubstr("gzip"));
  EXPECT_THAT(with("tjgg\x03").message, HasSubstr("before GGUF"));
  EXPECT_THAT(with("FUGG\x01").message, HasSubstr("big-endian"));
  EXPECT_THAT(with(std::string(5000, '\0')).message, HasSubstr("zeros only"));
  EXPECT_THAT(with("\x01\x02\xfe\xff\x03").message,
              HasSubstr("neither a GGUF nor a safetensors file"));
  EXPECT_EQ(with("GGUF").code, Code::kCorrupt);
}

TEST(OpenModelFile, APipeIsRefusedAndNeverWaitedFor) {
  const TemporaryDirectory d;
  const std::string pipe = d.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_of(pipe).message, HasSubstr("not a regular file"));
}

TEST(OpenModelFile, ADirectoryOfOtherWeightsSaysWhatToDo) {
  const TemporaryDirectory d;
  d.write("pytorch_model.bin", "PK\x03\x04");
  EXPECT_THAT(error_of(d.path()).message, HasSubstr("PyTorch weights (pytorch_model.bin)"));
  d.write("other.safetensors", small_safetensors());
  EXPECT_THAT(error_of(d.path()).message, HasSubstr("holds other.safetensors"));
  d.write("b.gguf", "GGUF");
  d.write("a.gguf", "GGUF");
  EXPECT_THAT(error_of(d.path()).message, AllOf(HasSubstr("2 GGUF files"), HasSubstr("/a.gguf")));
}

TEST(OpenModelFile, AShardThatIsALfsPointerIsCalledByItsName) {
  const TemporaryDirectory d;
  d.write("config.json", "{}");
  d.write("model.safetensors", "version https://git-lfs.github.com/spec/v1\n");
  EXPECT_THAT(error_of(d.path()).message,
              AllOf(HasSubstr("model.safetensors"), HasSubstr("git lfs pull")));
}

}  // namespace
}  // namespace weir::format
