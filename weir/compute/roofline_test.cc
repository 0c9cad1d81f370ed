#include "weir/compute/roofline.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "weir/compute/kernel_probes.h"
#include "weir/compute/memory_loops.h"
#include "weir/compute/test_targets.h"
#include "weir/sys/machine.h"

namespace weir::compute {
namespace {

TEST(PeakLoops, EachDoesTheMultiplyAddsItIsCountedFor) {
  on_every_target_and_grade([] {
    for (int i = 0; i < kPeakCount; ++i) {
      const auto loop = peak_loop(static_cast<Peak>(i));
      if (!loop) continue;
      for (const std::uint64_t rounds :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{777}, kCountedRounds}) {
        EXPECT_EQ(loop->spin(rounds), loop->operations / 2 * static_cast<double>(rounds))
            << loop->instruction;
      }
    }
  });
}

TEST(PeakLoops, EveryTargetHasWhatItsKernelsMultiplyWith) {
  on_every_target_and_grade([] {
    EXPECT_TRUE(peak_loop(Peak::kInt8Dot));
    EXPECT_TRUE(peak_loop(Peak::kF32Fma));
  });
}

TEST(MemoryLoops, ReadingMeetsEveryByteOnce) {
  on_every_target([] {
    Dice dice(7);
    for (const std::size_t lines : {1, 2, 3, 4, 5, 8, 31, 64, 1001}) {
      const AlignedBuffer<std::byte> memory(lines * kAlignment);
      for (std::size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<std::byte>(dice.below(256));
      std::uint64_t expected = 0;
      for (std::size_t i = 0; i < memory.size(); i += 8) {
        std::uint64_t word;
        std::memcpy(&word, memory.data() + i, 8);
        expected ^= word;
      }
      EXPECT_EQ(read_all(memory.span()), expected) << lines;
    }
  });
}

TEST(MemoryLoops, ATriadAddsThreeTimes) {
  on_every_target([] {
    for (const std::size_t count : {8, 16, 24, 4096}) {
      const AlignedBuffer<double> a(count + 8), b(count), c(count);
      for (std::size_t i = 0; i < count; ++i) {
        b[i] = static_cast<double>(i) + 0.5;
        c[i] = static_cast<double>(i % 17);
      }
      triad(a.span().first(count), b.span(), c.span());
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(a[i], b[i] + 3 * c[i]) << i;
      EXPECT_EQ(a[count], 0) << "nothing past the end";
    }
  });
}

/// A clock that moves by a fixed step whenever it is read.
class StepClock final : public sys::Clock {
 public:
  explicit StepClock(std::chrono::nanoseconds step) : step_(step) {}
  [[nodiscard]] TimePoint now() const override { return TimePoint(step_ * ++reads_); }
  [[nodiscard]] std::int64_t unix_seconds() const override { return 0; }

 private:
  std::chrono::nanoseconds step_;
  mutable std::atomic<std::int64_t> reads_ = 0;
};

TEST(TimedLoop, ARateIsAllRepetitionsOverTheTimeOfOneSample) {
  for (const std::size_t workers : {1, 3}) {
    ThreadPool pool(workers);
    const StepClock clock(std::chrono::milliseconds(2));
    std::vector<std::uint64_t> calls(workers * 8);
    TimedLoop loop = {.amount = 10,
                      .once = [&](const ThreadPool::Team& team) { ++calls[team.index() * 8]; },
                      .repeats = 7};
    // Every worker reads it before and after, so that the last end is 2 workers - 1 reads after the
    // first begin.
    const double seconds = 0.002 * static_cast<double>(2 * workers - 1);
    const Sample sample = sample_once(pool, clock, loop);
    EXPECT_DOUBLE_EQ(sample.rate, 10 * 7 / seconds);
    EXPECT_EQ(sample.clean, workers == 1) << "by this clock the others begin late";
    for (std::size_t w = 0; w < workers; ++w) EXPECT_EQ(calls[w * 8], 7);
  }
}

TEST(TimedLoop, ASampleInWhichAWorkerGaveItsCoreAwayIsNotClean) {
  ThreadPool pool(1);
  const sys::SystemClock clock;
  int calls = 0;
  const TimedLoop yields = {.amount = 1, .once = [&](const ThreadPool::Team&) {
                              ++calls;
                              // Until another thread had the core; sooner or later one does.
                              const std::uint64_t before = sys::thread_preemptions();
                              while (sys::thread_preemptions() == before) sched_yield();
                            }};
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (std::size_t i = 0; i < 2 * sys::usable_cores(); ++i)
    others.emplace_back([&] {
      while (!stop) sched_yield();
    });
  EXPECT_FALSE(sample_of(pool, clock, yields, 3).clean);
  stop = true;
  for (std::thread& t : others) t.join();
  EXPECT_EQ(calls, 3) << "it is tried again, but not for ever";
}

TEST(TimedLoop, ACleanSampleIsTakenAtOnce) {
  ThreadPool pool(1);
  const sys::SystemClock clock;
  int calls = 0;
  const TimedLoop loop = {.amount = 1, .once = [&](const ThreadPool::Team&) { ++calls; }};
  const Sample sample = sample_of(pool, clock, loop, 1000);
  EXPECT_TRUE(sample.clean);
  EXPECT_LT(calls, 1000);
}

/// A clock that a loop's own work moves.
TEST(TimedLoop, CalibrationRepeatsUntilASampleIsLongEnough) {
  ThreadPool pool(1);
  sys::ManualClock clock;
  TimedLoop loop = {.amount = 1, .once = [&](const ThreadPool::Team&) {
                      clock.advance(std::chrono::microseconds(3));
                    }};
  calibrate(pool, clock, loop, std::chrono::milliseconds(3));
  EXPECT_GE(loop.repeats, 500);
  EXPECT_LE(loop.repeats, 1001);
  EXPECT_NEAR(sample_once(pool, clock, loop).rate, 1e6 / 3, 1);
}

TEST(Roofline, ABufferIsEightTimesTheLastCacheWithinBounds) {
  EXPECT_EQ(RoofBuffer::planned_bytes(32U << 20), 256U << 20);
  EXPECT_EQ(RoofBuffer::planned_bytes(0), 256U << 20) << "unknown is taken as 32 MiB";
  EXPECT_GE(RoofBuffer::planned_bytes(1U << 20), kWeightSet);
  EXPECT_EQ(RoofBuffer::planned_bytes(std::uint64_t{1} << 60), std::uint64_t{4} << 30);
}

TEST(Roofline, EveryResourceIsSampledUntilTheTimeIsOver) {
  ThreadPool pool(2);
  const sys::SystemClock clock;
  const RoofBuffer buffer(1U << 20, 4U << 20);
  const RoofOptions options = {.weight_set = 1U << 20,
                               .rounds = 1000,
                               .sample = std::chrono::microseconds(50),
                               .budget = std::chrono::seconds(0)};
  const auto roofs = measure_roofs(pool, clock, buffer, options);
  EXPECT_GE(roofs.size(), 8U);
  for (const RoofSamples& roof : roofs) {
    // A budget of nothing is what ends it, but not before the least that is worth anything.
    EXPECT_EQ(roof.rates.size() + (roof.clean ? roof.disturbed : 0), kLeastRounds);
    EXPECT_EQ(roof.clean, kLeastRounds - roof.disturbed >= kLeastClean);
    for (const double rate : roof.rates) EXPECT_GT(rate, 0);
  }
}

TEST(ProductProbe, CyclesThroughCopiesThatFillTheSet) {
  ThreadPool pool(2);
  const sys::SystemClock clock;
  const std::vector<std::byte> bytes(48 * *row_bytes(DType::kQ8_0, 64), std::byte{5});
  const MatrixView views[] = {{DType::kQ8_0, 48, 64, bytes}};
  const auto planned = ProductProbe::planned_bytes(views, 4, 20'000);
  auto probe = ProductProbe::make(pool, views, 4, 20'000);
  ASSERT_TRUE(planned && probe);
  EXPECT_EQ(probe->packed_bytes(), *Linear::packed_bytes(views));
  EXPECT_EQ(probe->copies(), (20'000 + probe->packed_bytes() - 1) / probe->packed_bytes());
  EXPECT_GE(*planned, probe->copies() * probe->packed_bytes() + 4 * (64 * 5 + 48 * 4));
  for (const std::uint64_t rows : {1, 4}) {
    TimedLoop loop = probe->loop(pool, rows);
    EXPECT_EQ(loop.amount, 2.0 * 48 * 64 * static_cast<double>(rows));
    loop.repeats = 25;
    EXPECT_GT(sample_once(pool, clock, loop).rate, 0);
  }
}

TEST(ProductProbe, ALargeMatrixIsMultipliedInEqualSlices) {
  ThreadPool pool(2);
  const sys::SystemClock clock;
  // 25 and 5 MB of Q8_0 in two parts: slices of about 2 MB, each of one part.
  constexpr std::uint64_t kColumns = 1024;
  const std::vector<std::byte> bytes(24'000 * *row_bytes(DType::kQ8_0, kColumns), std::byte{5});
  const std::span<const std::byte> all = bytes;
  const MatrixView views[] = {
      {DType::kQ8_0, 24'000, kColumns, all},
      {DType::kQ8_0, 5'000, kColumns, all.first(5'000 * *row_bytes(DType::kQ8_0, kColumns))}};
  auto probe = ProductProbe::make(pool, views, 2, 1);
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->copies(), 1U);
  EXPECT_EQ(probe->packed_bytes(), *Linear::packed_bytes(views));
  EXPECT_GE(probe->slices(), probe->packed_bytes() / 2'200'000);
  TimedLoop loop = probe->loop(pool, 2);
  // All slices together are the product but for less than a panel of rows a slice.
  const double rows = loop.amount * static_cast<double>(probe->slices()) / (2.0 * kColumns * 2);
  EXPECT_LE(rows, 29'000);
  EXPECT_GE(rows, 29'000 - 16.0 * static_cast<double>(probe->slices()) - 1'500);
  loop.repeats = 2 * probe->slices();
  EXPECT_GT(sample_once(pool, clock, loop).rate, 0);
}

TEST(ProductProbe, ASizeThatOverflowsIsRefused) {
  const MatrixView views[] = {{DType::kF32, 1 << 20, 1 << 20, {}}};
  EXPECT_FALSE(ProductProbe::planned_bytes(views, std::uint64_t{1} << 60, 1));
}

TEST(AttentionProbe, CountsTheWorkOfASequenceInALayer) {
  AttentionLoad load;
  load.heads = 9;
  load.kv_heads = 3;
  load.head_dim = 64;
  load.layers = 2;
  load.sequences = 4;
  load.positions = 40;
  EXPECT_EQ(load.operations(), 4.0 * 9 * 64 * 40);
  // K and V of 40 positions, two bytes an element unless told otherwise; a page may be padded.
  EXPECT_NEAR(load.kv_bytes(), 2.0 * 3 * 64 * 40 * 2, 0.1 * load.kv_bytes());
  AttentionLoad wide = load;
  wide.type = DType::kF32;
  EXPECT_EQ(wide.kv_bytes(), 2 * load.kv_bytes());
  ThreadPool pool(2);
  const sys::SystemClock clock;
  AttentionProbe probe(pool, load);
  for (const std::uint32_t at_once : {1, 2, 4}) {
    TimedLoop loop = probe.loop(pool, at_once);
    EXPECT_EQ(loop.amount, load.operations() * at_once);
    loop.repeats = 11;
    EXPECT_GT(sample_once(pool, clock, loop).rate, 0);
  }
}

}  // namespace
}  // namespace weir::compute
