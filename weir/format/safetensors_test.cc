#include "weir/format/safetensors.h"

#include <gmock/gmock.h>

#include <string>

#include "weir/format/testing/gguf_bytes.h"
#include "weir/format/testing/safetensors_bytes.h"

namespace weir::format {
namespace {

using testing::as_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::safetensors_bytes;
using testing::small_safetensors;

/// The error of parsing, or "" when it parsed.
std::string error_of(const std::string& bytes) {
  const auto parsed = parse_safetensors("t.safetensors", as_bytes(bytes));
  if (parsed) return "";
  EXPECT_THAT(parsed.error().message, HasSubstr("t.safetensors: "));
  EXPECT_THAT(parsed.error().message, Not(HasSubstr("\n")));
  return parsed.error().message;
}

/// The error of a file with one tensor "w" of these fields, over eight bytes of data.
std::string error_of_tensor(const std::string& fields) {
  return error_of(safetensors_bytes("{\"w\":{" + fields + "}}", "12345678"));
}

TEST(Safetensors, TensorsComeInTheOrderOfTheirDataWithTypesShapesAndMetadata) {
  const std::string bytes = small_safetensors();
  const auto file = parse_safetensors("t.safetensors", as_bytes(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ((*file)->container(), "safetensors");
  EXPECT_EQ((*file)->text("__metadata__.format"), "pt");
  ASSERT_EQ((*file)->tensors().size(), 2U);
  EXPECT_EQ((*file)->tensors()[0].name, "a");
  const TensorView* a = (*file)->tensor("a");
  EXPECT_EQ(a->type, DType::kF32);
  EXPECT_THAT(a->shape, ElementsAre(2, 2));
  EXPECT_EQ(a->data.size(), 16U);
  const TensorView* b = (*file)->tensor("b");
  EXPECT_EQ(b->type, DType::kI64);
  EXPECT_EQ(b->data.front(), std::byte{'b'});
}

TEST(Safetensors, ScalarsAndEmptyTensorsAreAllowed) {
  EXPECT_EQ(error_of_tensor(R"("dtype":"F64","shape":[],"data_offsets":[0,8])"), "");
  EXPECT_EQ(error_of(safetensors_bytes(
                R"({"w":{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]}})", "")),
            "");
  EXPECT_EQ(error_of(safetensors_bytes("{}", "")), "");
}

TEST(Safetensors, EscapedNamesAreKeptUnescaped) {
  const std::string bytes =
      safetensors_bytes(R"({"\u0077\"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x");
  const auto file = parse_safetensors("t.safetensors", as_bytes(bytes));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_NE((*file)->tensor("w\""), nullptr);
}

TEST(Safetensors, HeaderLengthsBeyondTheBoundOrTheFileAreRefused) {
  std::string bytes = small_safetensors();
  bytes[7] = 1;
  EXPECT_THAT(error_of(bytes), HasSubstr("header length at offset 0: "));
  EXPECT_THAT(error_of(safetensors_bytes("{}", "").substr(0, 9)),
              HasSubstr("2 bytes are needed, but 1 remain"));
  EXPECT_THAT(error_of("1234"), HasSubstr("header length at offset 0"));
}

TEST(Safetensors, JsonThatIsNoHeaderSaysWhereAndWhy) {
  EXPECT_THAT(error_of(safetensors_bytes("[]", "")), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(error_of(safetensors_bytes(R"({"w":)", "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of(safetensors_bytes("{} {}", "")), HasSubstr("text follows"));
  EXPECT_THAT(error_of(safetensors_bytes(R"({"w":3})", "")), HasSubstr("'w' must be an object"));
  EXPECT_THAT(error_of(safetensors_bytes(R"({"":{}})", "")), HasSubstr("is no tensor name"));
  EXPECT_THAT(error_of(safetensors_bytes(R"({"__metadata__":{"a":1}})", "")),
              HasSubstr("wrong type"));
  EXPECT_THAT(error_of(safetensors_bytes(R"({"__metadata__":{"a":"1","a":"2"}})", "")),
              HasSubstr("there twice"));
}

TEST(Safetensors, EveryFieldIsNeededOnceAndOfItsType) {
  EXPECT_THAT(error_of_tensor(R"("dtype":"F32","shape":[2])"), HasSubstr("lacks its"));
  EXPECT_THAT(error_of_tensor(R"("dtype":3)"), HasSubstr("'dtype' of 'w' is of the wrong type"));
  EXPECT_THAT(error_of_tensor(R"("dtype":["F32"])"), HasSubstr("wrong type"));
  EXPECT_THAT(error_of_tensor(R"("shape":"F32")"), HasSubstr("wrong type"));
  EXPECT_THAT(error_of_tensor(R"("shape":[[1]])"), HasSubstr("wrong type"));
  EXPECT_THAT(error_of_tensor(R"("shape":[-1])"), HasSubstr("negative"));
  EXPECT_THAT(error_of_tensor(R"("shape":[1.5])"), HasSubstr("not an integer"));
  EXPECT_THAT(error_of_tensor(R"("shape":[1e30])"), HasSubstr("not an integer"));
  EXPECT_THAT(error_of_tensor(R"("shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])"),
              HasSubstr("16 dimensions"));
  EXPECT_THAT(error_of_tensor(R"("data_offsets":[0])"), HasSubstr("two numbers"));
  EXPECT_THAT(error_of_tensor(R"("data_offsets":[0,1,2])"), HasSubstr("two numbers"));
  EXPECT_THAT(error_of_tensor(R"("shape":[1],"shape":[1])"), HasSubstr("there twice"));
  EXPECT_THAT(error_of_tensor(R"("colour":"red")"), HasSubstr("'colour' of 'w' is no field"));
  EXPECT_THAT(error_of_tensor(R"("dtype":{"a":{}})"), HasSubstr("nested object"));
}

TEST(Safetensors, TypesShapesAndOffsetsAgreeAndCoverTheData) {
  const auto with = [](const char* type, const char* shape, const char* offsets) {
    return error_of_tensor(std::string("\"dtype\":\"") + type + "\",\"shape\":" + shape +
                           ",\"data_offsets\":" + offsets);
  };
  EXPECT_EQ(with("F32", "[2]", "[0,8]"), "");
  EXPECT_THAT(with("F32", "[3]", "[0,8]"), HasSubstr("needs 12 bytes, but it has 8"));
  EXPECT_THAT(with("F32", "[4611686018427387904,4]", "[0,8]"), HasSubstr("more than 2^64"));
  EXPECT_THAT(with("F32", "[1]", "[0,4]"), HasSubstr("4 bytes belong to no tensor"));
  EXPECT_THAT(with("F32", "[1]", "[4,8]"),
              HasSubstr("4 bytes before its data belong to no tensor"));
  EXPECT_THAT(with("F32", "[2]", "[8,0]"), HasSubstr("before it begins"));
  EXPECT_THAT(with("F32", "[4]", "[0,16]"), HasSubstr("the download is incomplete"));
  EXPECT_THAT(with("F8_E4M3", "[8]", "[0,8]"),
              HasSubstr("its type is F8_E4M3; Weir does not read that"));
  EXPECT_THAT(with("Q4_0", "[8]", "[0,8]"), HasSubstr("'Q4_0' is no element type"));
  EXPECT_THAT(error_of(safetensors_bytes(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                                         R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                                         "123456")),
              HasSubstr("tensor 'b': its data overlaps"));
  EXPECT_THAT(error_of(safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                         R"("a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                                         "12")),
              HasSubstr("tensor 'a' is listed twice"));
}

TEST(Safetensors, AFileCutAtAnyByteIsOneClearError) {
  const std::string whole = small_safetensors();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of(whole.substr(0, size)), "") << size;
  }
}

TEST(Safetensors, AnyFlippedBitOrByteIsReadOrIsOneClearError) {
  const std::string whole = small_safetensors();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF}) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ change);
      static_cast<void>(error_of(flipped));
    }
  }
}

}  // namespace
}  // namespace weir::format
