#include "weir/format/gguf.h"

#include <gmock/gmock.h>

#include <string>

#include "weir/format/testing/gguf_bytes.h"

namespace weir::format {
namespace {

using ::testing::AllOf;
using testing::as_bytes;
using ::testing::ElementsAre;
using testing::GgufBytes;
using ::testing::HasSubstr;

constexpr std::uint32_t kF32 = 0;
constexpr std::uint32_t kQ4_0 = 2;

/// The error of parsing, or "" when it parsed.
std::string error_of(const GgufBytes& file) {
  const std::string bytes = file.text_bytes();
  const auto parsed = parse_gguf("t.gguf", as_bytes(bytes));
  if (parsed) return "";
  EXPECT_THAT(parsed.error().message,
              AllOf(HasSubstr("t.gguf: "), ::testing::Not(HasSubstr("\n"))));
  return parsed.error().message;
}

GgufBytes small_file() {
  GgufBytes f;
  f.put("general.architecture", "llama");
  f.put("n", GgufBytes::kU32, std::uint32_t{7});
  f.tensor("a", {4, 2}, kF32, std::string(32, 'a'));
  f.tensor("b", {32, 1, 3}, kQ4_0, std::string(std::size_t{18} * 3, 'b'));
  return f;
}

TEST(Gguf, MetadataIsTypedAndWidened) {
  GgufBytes f;
  f.put("u8", GgufBytes::kU8, std::uint8_t{200});
  f.put("i16", GgufBytes::kI16, std::int16_t{-5});
  f.put("u64", GgufBytes::kU64, std::uint64_t{1} << 63);
  f.put("f32", GgufBytes::kF32, 0.5F);
  f.put("f64", GgufBytes::kF64, 1e300);
  f.put("yes", GgufBytes::kBool, std::uint8_t{1});
  f.put("text", "h\xc3\xa9");
  f.put_array("scores", GgufBytes::kF32, std::vector<float>{1.5F, -2});
  f.put_array("ids", GgufBytes::kI32, std::vector<std::int32_t>{-1, 3});
  f.put_array("flags", GgufBytes::kBool, std::vector<std::uint8_t>{1, 0});
  f.put_array("tokens", {"a", "", "ccc"});
  const std::string bytes = f.text_bytes();
  const auto file = parse_gguf("t.gguf", as_bytes(bytes));
  ASSERT_TRUE(file) << file.error().message;
  const ModelFile& m = **file;
  EXPECT_EQ(m.container(), "GGUF v3");
  EXPECT_EQ(m.integer("u8"), 200U);
  EXPECT_EQ(m.integer("i16"), std::nullopt) << "a negative number is no size";
  EXPECT_EQ(m.number("i16"), -5);
  EXPECT_EQ(m.integer("u64"), std::uint64_t{1} << 63);
  EXPECT_EQ(m.number("f32"), 0.5);
  EXPECT_EQ(m.number("f64"), 1e300);
  EXPECT_EQ(m.boolean("yes"), true);
  EXPECT_EQ(m.text("text"), "h\xc3\xa9");
  EXPECT_EQ(m.text("u8"), std::nullopt);
  EXPECT_EQ(m.text("absent"), std::nullopt);
  EXPECT_THAT(*m.array<double>("scores"), ElementsAre(1.5, -2));
  EXPECT_THAT(*m.array<std::int64_t>("ids"), ElementsAre(-1, 3));
  EXPECT_THAT(*m.array<bool>("flags"), ElementsAre(true, false));
  EXPECT_THAT(*m.array<std::string>("tokens"), ElementsAre("a", "", "ccc"));
  EXPECT_EQ(m.array<double>("ids"), nullptr);
}

TEST(Gguf, TensorsHaveOutermostFirstShapesAndTheirOwnBytes) {
  const std::string bytes = small_file().text_bytes();
  const auto file = parse_gguf("t.gguf", as_bytes(bytes));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ((*file)->tensors().size(), 2U);
  const TensorView* a = (*file)->tensor("a");
  ASSERT_NE(a, nullptr);
  EXPECT_THAT(a->shape, ElementsAre(2, 4));
  EXPECT_EQ(a->rows(), 2U);
  EXPECT_EQ(a->columns(), 4U);
  EXPECT_EQ(a->data.size(), 32U);
  EXPECT_EQ(a->data.front(), std::byte{'a'});
  const TensorView* b = (*file)->tensor("b");
  ASSERT_NE(b, nullptr);
  EXPECT_THAT(b->shape, ElementsAre(3, 1, 32));
  EXPECT_EQ(b->rows(), 3U);
  EXPECT_EQ(b->data.size(), 54U);
  EXPECT_EQ(b->data.back(), std::byte{'b'});
  EXPECT_EQ((*file)->tensor("c"), nullptr);
}

TEST(Gguf, CountsBeyondTheFileAreRefusedBeforeAnythingIsAllocated) {
  GgufBytes f = small_file();
  f.extra_pairs = std::uint64_t{1} << 60;
  EXPECT_THAT(error_of(f), HasSubstr("elements of at least 14 bytes are needed"));
  f = small_file();
  f.extra_tensors = UINT64_MAX - 2;
  EXPECT_THAT(error_of(f), HasSubstr("tensor list at offset"));
  f = small_file();
  f.put_raw("big", GgufBytes::kArray,
            GgufBytes::bytes_of(std::uint32_t{GgufBytes::kU64}) +
                GgufBytes::bytes_of(std::uint64_t{1} << 61));
  EXPECT_THAT(error_of(f), HasSubstr("metadata 'big' at offset"));
  f = small_file();
  f.put_raw("long", GgufBytes::kString, GgufBytes::bytes_of(UINT64_MAX));
  EXPECT_THAT(error_of(f), HasSubstr("metadata 'long' at offset"));
}

TEST(Gguf, NestedArraysUnknownTypesAndBadBooleansAreNamed) {
  GgufBytes f;
  f.put_raw("k", GgufBytes::kArray,
            GgufBytes::bytes_of(std::uint32_t{GgufBytes::kArray}) +
                GgufBytes::bytes_of(std::uint64_t{0}));
  EXPECT_THAT(error_of(f), HasSubstr("array of arrays"));
  f = {};
  f.put_raw("k", 13, "xxxx");
  EXPECT_THAT(error_of(f), HasSubstr("metadata 'k' at offset 33: 13 is no value type"));
  f = {};
  f.put("k", GgufBytes::kBool, std::uint8_t{2});
  EXPECT_THAT(error_of(f), HasSubstr("a boolean of value 2"));
}

TEST(Gguf, NamesAreUniqueAndPrintable) {
  GgufBytes f;
  f.put("k", "1");
  f.put("k", "2");
  EXPECT_THAT(error_of(f), HasSubstr("'k' at offset 46: the key is there twice"));
  f = {};
  f.put("\x1b[2J", "x");
  EXPECT_THAT(error_of(f), HasSubstr("'\\x1b[2J' is no key"));
  f = {};
  f.put("", "x");
  EXPECT_THAT(error_of(f), HasSubstr("is no key"));
  f = {};
  f.tensor("w", {1}, kF32, "1234");
  f.tensor("w", {1}, kF32, "1234");
  EXPECT_THAT(error_of(f), HasSubstr("tensor 'w' is listed twice"));
  f = {};
  f.tensor(std::string(256, 'n'), {1}, kF32, "1234");
  EXPECT_THAT(error_of(f), HasSubstr("a string of 256 bytes"));
}

TEST(Gguf, ShapesAreCheckedAgainstTheirProductsAndBlocks) {
  const auto one = [](const std::vector<std::uint64_t>& shape, std::uint32_t type) {
    GgufBytes f;
    f.tensor("w", shape, type, std::string(64, 'x'));
    return error_of(f);
  };
  EXPECT_EQ(one({}, kF32), "") << "a scalar";
  EXPECT_THAT(one({1, 1, 1, 1, 1}, kF32), HasSubstr("5 dimensions"));
  EXPECT_THAT(one({4, 0}, kF32), HasSubstr("[4, 0] holds no elements"));
  EXPECT_THAT(one({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, kF32),
              HasSubstr("more than 2^64 elements"));
  EXPECT_THAT(one({std::uint64_t{1} << 62}, kF32), HasSubstr("not whole blocks"));
  EXPECT_THAT(one({4, std::uint64_t{1} << 60}, kF32), HasSubstr("more than 2^64 bytes"));
  EXPECT_THAT(one({33}, kQ4_0), HasSubstr("rows of 33 elements are not whole blocks of Q4_0"));
  EXPECT_THAT(one({32}, 16), HasSubstr("IQ2_XXS (type 16)"));
  EXPECT_THAT(one({32}, 4), HasSubstr("removed"));
  EXPECT_THAT(one({32}, 999), HasSubstr("999, a number no GGML type has"));
}

TEST(Gguf, TensorDataLiesInsideTheFileAlignedAndNeverOverlaps) {
  GgufBytes f = small_file();
  f.tensor_at("c", {4}, kF32, 16);
  EXPECT_THAT(error_of(f), HasSubstr("16 is not a multiple of 32"));
  f = small_file();
  f.tensor_at("c", {4}, kF32, 32);
  EXPECT_THAT(error_of(f), HasSubstr("tensor 'c'"));
  EXPECT_THAT(error_of(f), HasSubstr("overlaps that of 'b'"));
  f = small_file();
  f.tensor_at("c", {4}, kF32, 1024);
  EXPECT_THAT(error_of(f), HasSubstr("the download is incomplete"));
  f = small_file();
  f.tensor_at("c", {4}, kF32, UINT64_MAX - 31);
  EXPECT_THAT(error_of(f), HasSubstr("tensor 'c'"));
}

TEST(Gguf, AlignmentIsAPowerOfTwoAndIsObeyed) {
  GgufBytes f;
  f.alignment = 64;
  f.put("general.alignment", GgufBytes::kU32, std::uint32_t{64});
  f.tensor("w", {1}, kF32, "1234");
  f.tensor("v", {1}, kF32, "5678");
  EXPECT_EQ(error_of(f), "");
  for (const std::uint32_t bad : {0U, 1U, 24U, 1U << 30}) {
    f = {};
    f.put("general.alignment", GgufBytes::kU32, bad);
    EXPECT_THAT(error_of(f), HasSubstr("must be a power of two")) << bad;
  }
  f = {};
  f.put("general.alignment", "32");
  EXPECT_THAT(error_of(f), HasSubstr("must be a power of two"));
}

TEST(Gguf, VersionsAreTold) {
  GgufBytes f = small_file();
  f.version = 2;
  EXPECT_EQ(error_of(f), "");
  f.version = 1;
  EXPECT_THAT(error_of(f), HasSubstr("version 1"));
  f.version = 0x03000000;
  EXPECT_THAT(error_of(f), HasSubstr("big-endian"));
  f.version = 4;
  EXPECT_THAT(error_of(f), HasSubstr("GGUF version 4"));
}

TEST(Gguf, OnePartOfASplitModelSaysHowToJoin) {
  GgufBytes f = small_file();
  f.put("split.count", GgufBytes::kU16, std::uint16_t{3});
  EXPECT_THAT(error_of(f), HasSubstr("llama-gguf-split --merge"));
}

/// Touches every byte a reader hands out, so that a sanitizer sees any that lie outside.
std::uint64_t walk(const ModelFile& file) {
  std::uint64_t sum = 0;
  for (const TensorView& t : file.tensors()) {
    for (const std::byte b : t.data) sum += static_cast<std::uint64_t>(b);
    sum += t.rows() * t.columns() + (file.tensor(t.name) == &t ? 1 : 0);
  }
  for (const auto& [key, value] : file.metadata()) sum += key.size() + value.index();
  return sum;
}

TEST(Gguf, AFileCutAtAnyByteIsOneClearError) {
  const std::string whole = small_file().text_bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    const auto file = parse_gguf("t.gguf", as_bytes(cut));
    ASSERT_FALSE(file) << size;
    EXPECT_THAT(file.error().message, HasSubstr("t.gguf: ")) << size;
    EXPECT_EQ(file.error().code, Code::kCorrupt) << size;
  }
}

TEST(Gguf, AnyFlippedBitOrByteIsReadOrIsOneClearError) {
  GgufBytes f = small_file();
  f.put_array("tokens", {"a", "bb"});
  f.put_array("ids", GgufBytes::kI32, std::vector<std::int32_t>{-1, 3});
  const std::string whole = f.text_bytes();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF}) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ change);
      const auto file = parse_gguf("t.gguf", as_bytes(flipped));
      if (file) {
        walk(**file);
      } else {
        EXPECT_THAT(file.error().message, HasSubstr("t.gguf: ")) << at << " ^ " << change;
        EXPECT_THAT(file.error().message, ::testing::Not(HasSubstr("\n"))) << at << " ^ " << change;
      }
    }
  }
}

}  // namespace
}  // namespace weir::format
