#include "weir/compute/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

namespace weir::compute {
namespace {

TEST(Share, SharesCoverEveryItemOnceInOrderAndInGrains) {
  for (std::size_t count : {0, 1, 2, 7, 16, 100, 101}) {
    for (std::size_t workers : {1, 2, 3, 8}) {
      for (std::size_t grain : {1, 4, 16}) {
        std::size_t next = 0;
        for (std::size_t i = 0; i < workers; ++i) {
          const Share s = share_of(count, i, workers, grain);
          ASSERT_EQ(s.begin, next);
          ASSERT_LE(s.begin, s.end);
          ASSERT_TRUE(s.end % grain == 0 || s.end == count);
          next = s.end;
        }
        ASSERT_EQ(next, count);
      }
    }
  }
}

class ThreadPoolOf : public testing::TestWithParam<std::size_t> {};

TEST_P(ThreadPoolOf, EveryWorkerRunsOnceAndTheCallerIsWorkerZero) {
  ThreadPool pool(GetParam());
  const auto caller = std::this_thread::get_id();
  std::vector<int> runs(pool.workers(), 0);
  for (int i = 0; i < 100; ++i) {
    pool.run([&](const ThreadPool::Team& team) {
      ++runs[team.index()];
      if (team.index() == 0) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
      }
    });
  }
  EXPECT_EQ(runs, std::vector<int>(pool.workers(), 100));
}

TEST_P(ThreadPoolOf, WritesBeforeABarrierAreSeenAfterIt) {
  ThreadPool pool(GetParam());
  std::vector<int> cells(pool.workers(), 0);
  std::atomic<int> wrong{0};
  pool.run([&](const ThreadPool::Team& team) {
    for (int round = 1; round <= 1000; ++round) {
      cells[team.index()] = round;
      team.barrier();
      for (const int cell : cells) wrong += cell != round;
      team.barrier();
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(ThreadPoolOf, WorkersWakeAfterTheyHaveGoneToSleep) {
  ThreadPool pool(GetParam());
  std::atomic<std::size_t> ran{0};
  for (int i = 0; i < 3; ++i) {
    // Long past the spinning phase; the test does not depend on it, it only makes sleep likely.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pool.run([&](const ThreadPool::Team&) { ++ran; });
  }
  EXPECT_EQ(ran, 3 * pool.workers());
}

TEST_P(ThreadPoolOf, SubnormalsAreFlushedInEveryWorkerAndTheCallersModeIsKept) {
  ThreadPool pool(GetParam());
  volatile float tiny = 1e-38F;
  std::atomic<int> flushed{0};
  pool.run([&](const ThreadPool::Team&) {
    volatile float product = tiny * 0.01F;
    flushed += product == 0.0F;
  });
  EXPECT_EQ(flushed, static_cast<int>(pool.workers()));
  volatile float product = tiny * 0.01F;
  EXPECT_NE(product, 0.0F);
}

TEST_P(ThreadPoolOf, ScratchIsOneAreaForTheWholeTeam) {
  ThreadPool pool(GetParam());
  std::vector<std::byte*> seen(pool.workers());
  pool.run([&](const ThreadPool::Team& team) {
    seen[team.index()] = team.scratch().data();
    EXPECT_EQ(team.scratch().size(), team.workers() * ThreadPool::Team::kScratchBytes);
  });
  EXPECT_EQ(seen, std::vector<std::byte*>(pool.workers(), seen[0]));
}

TEST_P(ThreadPoolOf, AnAdaptiveTeamOfAnySizeDoesTheWholeWork) {
  ThreadPool pool(GetParam(), ThreadPool::Sizing::kAdaptive);
  // Worker 0 alone works, so that whoever else there is waits for it, until only it is left.
  std::size_t least = pool.workers();
  for (int i = 0; i < 50; ++i) {
    std::atomic<std::size_t> items{0};
    std::atomic<std::size_t> size{0};
    pool.run([&](const ThreadPool::Team& team) {
      const Share mine = team.share(1000);
      items += mine.end - mine.begin;
      size = team.workers();
      if (team.index() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    ASSERT_EQ(items, 1000);
    least = std::min<std::size_t>(least, size);
  }
  // Waiting in all is above the run's time only from three workers on.
  if (pool.workers() > 2) {
    EXPECT_LT(least, pool.workers());
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, ThreadPoolOf, testing::Values(1, 2, 3, 5));

}  // namespace
}  // namespace weir::compute
