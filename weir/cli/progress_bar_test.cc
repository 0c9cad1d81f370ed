#include "weir/cli/progress_bar.h"

#include <gtest/gtest.h>

namespace weir::cli {
namespace {

hub::Progress at(std::uint64_t done, std::uint64_t total) {
  hub::Progress progress;
  progress.stage = hub::Stage::kDownloading;
  progress.model = "m";
  progress.done_bytes = done;
  progress.total_bytes = total;
  return progress;
}
using Seconds = std::chrono::duration<double>;

TEST(ProgressBar, SaysHowMuchHowFastAndHowLong) {
  Rate rate;
  rate.add(0, Seconds(0));
  rate.add(10'000'000, Seconds(1));
  const auto line = draw_progress(at(10'000'000, 100'000'000), rate, 120);
  EXPECT_EQ(line, "m  [==>                     ]   10%  10.0 MB of 100 MB, 10.0 MB/s, 9 s left")
      << line;
}

TEST(ProgressBar, NeverReachesTheLastColumnAndNeverCutsACharacter) {
  auto progress = at(1, 2);
  for (int i = 0; i < 40; ++i) progress.model += "\xC3\xA9";
  for (std::size_t columns = 1; columns < 200; ++columns) {
    const auto line = draw_progress(progress, {}, columns);
    EXPECT_LT(line.size(), columns);
    if (!line.empty()) {
      EXPECT_NE(static_cast<unsigned char>(line.back()), 0xC3);
    }
  }
}

TEST(ProgressBar, BytesOfAnEarlierAttemptAreNoSpeed) {
  Rate rate;
  rate.add(50'000'000, Seconds(0));
  EXPECT_EQ(rate.bytes_per_second(), 0);
  EXPECT_LT(rate.seconds_left(1), 0);
  rate.add(51'000'000, Seconds(1));
  EXPECT_DOUBLE_EQ(rate.bytes_per_second(), 1'000'000);
}

TEST(ProgressBar, AStageIsASentence) {
  hub::Progress progress;
  progress.model = "m";
  progress.stage = hub::Stage::kWaiting;
  progress.note = "another process is fetching it";
  EXPECT_EQ(draw_progress(progress, {}, 100), "m  waiting: another process is fetching it");
}

}  // namespace
}  // namespace weir::cli
