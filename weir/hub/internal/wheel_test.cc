#include "weir/hub/internal/wheel.h"

#include <gtest/gtest.h>
#include <zip.h>

#include <fstream>

namespace weir::hub {
namespace {

/// A wheel with one member, in the test's own folder.
std::string make_wheel(const std::string& member, const std::string& bytes,
                       int compression = ZIP_CM_DEFLATE) {
  std::string path = testing::TempDir() + "/weir_wheel_test.whl";
  int error = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
  const auto index = zip_file_add(archive, member.c_str(), source, ZIP_FL_ENC_UTF_8);
  zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), compression, 0);
  EXPECT_EQ(zip_close(archive), 0);
  return path;
}

struct Read {
  std::string bytes;
  Status status;
};
Read read(const std::string& wheel, const std::string& member, std::uint64_t max_bytes) {
  Read result;
  result.status = read_member(wheel, member, max_bytes, [&](std::string_view piece) {
    result.bytes += piece;
    return Status{};
  });
  return result;
}

TEST(Wheel, AMemberIsReadWhole) {
  const std::string bytes(3'000'000, 'x');
  const auto result = read(make_wheel("a/b", bytes), "a/b", bytes.size());
  EXPECT_TRUE(result.status.has_value());
  EXPECT_EQ(result.bytes, bytes);
}

TEST(Wheel, AMemberThatIsNotThereIsNotFound) {
  EXPECT_EQ(read(make_wheel("a", "x"), "b", 10).status.error().code, Code::kNotFound);
}

TEST(Wheel, ABombStopsAtTheBound) {
  const auto result = read(make_wheel("a", std::string(30'000'000, '\0')), "a", 2'000'000);
  EXPECT_EQ(result.status.error().code, Code::kCorrupt);
  EXPECT_LE(result.bytes.size(), 2'000'000U);
}

TEST(Wheel, ABitThatFlippedIsFoundByTheCrc) {
  const auto path = make_wheel("a", "the quick brown fox", ZIP_CM_STORE);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(31 + 5);  // 30 bytes of local header and one of name, then into the data
  file.put('#');
  file.close();
  EXPECT_EQ(read(path, "a", 100).status.error().code, Code::kCorrupt);
}

TEST(Wheel, WhatIsNoArchiveIsCorrupt) {
  const std::string path = testing::TempDir() + "/weir_wheel_test_junk.whl";
  std::ofstream(path) << "junk";
  EXPECT_EQ(read(path, "a", 10).status.error().code, Code::kCorrupt);
  EXPECT_EQ(read(path + ".none", "a", 10).status.error().code, Code::kCorrupt);
}

TEST(Wheel, AnErrorOfTheSinkIsTheResult) {
  const auto status = read_member(make_wheel("a", "x"), "a", 10, [](std::string_view) -> Status {
    return fail(Code::kExhausted, "full");
  });
  EXPECT_EQ(status.error().code, Code::kExhausted);
}

}  // namespace
}  // namespace weir::hub
