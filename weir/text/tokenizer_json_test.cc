#include "weir/text/tokenizer_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/text/tokenizer.h"

namespace weir::text {
namespace {

using testing::HasSubstr;

std::string error(std::string_view json) {
  const auto v = read_tokenizer_json(json);
  return v ? "none" : v.error().message;
}

constexpr std::string_view kSmall = R"({
  "added_tokens": [{"id": 4, "content": "<|im_end|>", "special": true, "normalized": false},
                   {"id": 5, "content": "tool", "special": false, "normalized": false, "single_word": true}],
  "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]},
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
  "decoder": {"type": "ByteLevel"},
  "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<|im_end|>"}}, {"Sequence": {"id": "A"}}]},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3}, "merges": ["a b"]}})";

TEST(TokenizerJson, ReadsEverySectionIntoTheVocabulary) {
  auto v = read_tokenizer_json(kSmall, R"({"eos_token": {"content": "<|im_end|>"}})",
                               R"({"eos_token_id": [4, 2]})");
  ASSERT_TRUE(v.has_value()) << v.error().message;
  EXPECT_EQ(v->kind, TokenizerKind::kByteBpe);
  EXPECT_EQ(v->bos, 4);
  EXPECT_EQ(v->eos, 4);
  EXPECT_THAT(v->end_of_generation, testing::ElementsAre(4, 2));
  auto t = Tokenizer::create(*std::move(v));
  ASSERT_TRUE(t.has_value());
  EXPECT_THAT((*t)->encode("AB tool ab tools"), testing::ElementsAre(4, 2, 3, 5, 3, 2, 3));
}

TEST(TokenizerJson, WhatItCannotDoIsNamed) {
  EXPECT_THAT(error(R"({"model": {"type": "WordLevel"}})"), HasSubstr("'WordLevel'"));
  EXPECT_THAT(
      error(
          R"({"model": {"type": "BPE", "vocab": {}, "merges": []}, "normalizer": {"type": "Odd"}})"),
      HasSubstr("'Odd'"));
  EXPECT_THAT(
      error(
          R"({"model": {"type": "BPE", "vocab": {}, "merges": [], "end_of_word_suffix": "</w>"}})"),
      HasSubstr("end_of_word_suffix"));
}

TEST(TokenizerJson, ABrokenFileIsOneClearError) {
  EXPECT_THAT(error(""), HasSubstr("tokenizer.json"));
  EXPECT_THAT(error("{\"model\": "), HasSubstr("at byte"));
  EXPECT_THAT(error("[]"), HasSubstr("not an object"));
  EXPECT_THAT(error("{}"), HasSubstr("no model"));
  EXPECT_THAT(error(std::string(100000, '[')), HasSubstr("at byte"));
  EXPECT_THAT(error(R"({"model": {"type": "BPE", "vocab": {"a": 2000000000}, "merges": []}})"),
              HasSubstr("id 2000000000"));
  EXPECT_THAT(error(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}})"),
              HasSubstr("share the id 0"));
}

}  // namespace
}  // namespace weir::text
