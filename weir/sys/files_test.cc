#include "weir/sys/files.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "weir/sys/mapped_file.h"

namespace weir::sys {
namespace {

/// A folder of its own for each test.
class Files : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/weir_files_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  [[nodiscard]] std::string at(const std::string& name) const { return root_ + "/" + name; }
  static std::string text_of(const std::string& path) {
    return read_file(path, 1 << 20).value_or("?");
  }

  std::string root_;
};

TEST_F(Files, ADurableWriteReplacesTheWholeFileAndLeavesNothingElse) {
  ASSERT_TRUE(write_file_durably(at("a"), "one").has_value());
  ASSERT_TRUE(write_file_durably(at("a"), "two").has_value());
  EXPECT_EQ(text_of(at("a")), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(root_), {}), 1);
}

TEST_F(Files, AppendingContinuesWhereTheFileEnds) {
  {
    ASSERT_TRUE(OutputFile::open(at("a"), OutputFile::Mode::kTruncate)->write("head ").has_value());
  }
  auto file = OutputFile::open(at("a"), OutputFile::Mode::kAppend);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->size(), 5U);
  ASSERT_TRUE(file->write("tail").has_value());
  EXPECT_EQ(text_of(at("a")), "head tail");
  ASSERT_TRUE(file->truncate().has_value());
  ASSERT_TRUE(file->write("new").has_value());
  EXPECT_EQ(text_of(at("a")), "new");
}

TEST_F(Files, ALinkInTheWayIsNotWrittenThrough) {
  ASSERT_TRUE(write_file_durably(at("precious"), "kept").has_value());
  std::filesystem::create_symlink(at("precious"), at("link"));
  EXPECT_FALSE(OutputFile::open(at("link"), OutputFile::Mode::kTruncate).has_value());
  EXPECT_EQ(text_of(at("precious")), "kept");
}

TEST_F(Files, AFullDiskIsExhaustedAndNamesThePath) {
  auto full = OutputFile::open("/dev/full", OutputFile::Mode::kAppend);
  if (!full) GTEST_SKIP() << "no /dev/full here";
  const auto status = full->write("x");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, Code::kExhausted);
  EXPECT_NE(status.error().message.find("/dev/full"), std::string::npos);
}

TEST_F(Files, FreeSpaceIsThatOfTheNearestExistingParent) {
  const auto here = free_disk_bytes(root_);
  const auto below = free_disk_bytes(at("not/yet/there"));
  ASSERT_TRUE(here.has_value());
  ASSERT_TRUE(below.has_value());
  EXPECT_GT(*below, 0U);
}

TEST_F(Files, OneHolderAtATimeAndTheNextIsToldThatItWaits) {
  auto first = FileLock::acquire(at("lock"), nullptr);
  ASSERT_TRUE(first.has_value());
  std::atomic<bool> waiting = false;
  std::atomic<bool> released = false;
  std::jthread second([&] {
    const auto lock = FileLock::acquire(at("lock"), [&] {
      waiting = true;
      waiting.notify_all();
      return true;
    });
    EXPECT_TRUE(lock.has_value());
    EXPECT_TRUE(released);
  });
  waiting.wait(false);
  released = true;
  {
    const FileLock gone = *std::move(first);
  }
}

TEST_F(Files, WhoWaitsForALockMayGiveUp) {
  const auto held = FileLock::acquire(at("lock"), nullptr);
  const auto refused = FileLock::acquire(at("lock"), [] { return false; });
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kCancelled);
}

TEST_F(Files, ALockFileLeftBehindHoldsNobodyUp) {
  ASSERT_TRUE(write_file_durably(at("lock"), "stale").has_value());
  EXPECT_TRUE(FileLock::acquire(at("lock"), [] { return false; }).has_value());
}

TEST_F(Files, FoldersFollowXdgAndIgnoreARelativeOne) {
  ::setenv("HOME", "/home/someone", 1);
  ::setenv("XDG_CACHE_HOME", "/elsewhere", 1);
  EXPECT_EQ(cache_directory().value_or(""), "/elsewhere");
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(cache_directory().value_or(""), "/home/someone/.cache");
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(cache_directory().value_or(""), "/home/someone/.cache");
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(data_directory().value_or(""), "/data");
  ::unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(data_directory().value_or(""), "/home/someone/.local/share");
  ::unsetenv("XDG_CONFIG_HOME");
  EXPECT_EQ(config_directory().value_or(""), "/home/someone/.config");
}

}  // namespace
}  // namespace weir::sys
