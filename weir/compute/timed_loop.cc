#include "weir/compute/timed_loop.h"

#include <algorithm>
#include <vector>

#include "weir/spec/time.h"
#include "weir/sys/machine.h"

namespace weir::compute {
namespace {

struct Timing {
  double seconds;
  bool clean;
};

/// Of one worker. Written once a sample, so lines need no padding.
struct Lap {
  sys::Clock::TimePoint begin, end;
  bool lost_core = false;
};

Timing time_of(ThreadPool& pool, const sys::Clock& clock, const TimedLoop& loop,
               std::uint64_t repeats) {
  std::vector<Lap> laps(pool.workers());
  pool.run([&](const ThreadPool::Team& team) {
    Lap& lap = laps[team.index()];
    team.barrier();
    const std::uint64_t lost = sys::thread_preemptions();
    lap.begin = clock.now();
    for (std::uint64_t i = 0; i < repeats; ++i) loop.once(team);
    lap.end = clock.now();
    lap.lost_core = sys::thread_preemptions() != lost;
  });
  const auto begin = std::ranges::min(laps, {}, &Lap::begin).begin;
  const auto end = std::ranges::max(laps, {}, &Lap::end).end;
  // A clock too coarse for the loop must not make it infinitely fast.
  const double seconds = std::max(weir::seconds(end - begin), 1e-9);
  // A worker that was asleep at the barrier begins when the others are well on their way: then not
  // all ran at once, which is what is asked for.
  constexpr double kLate = 0.03;
  const double late = weir::seconds(std::ranges::max(laps, {}, &Lap::begin).begin - begin);
  const bool lost = std::ranges::any_of(laps, &Lap::lost_core);
  return {seconds, !lost && late <= kLate * seconds};
}

}  // namespace

void calibrate(ThreadPool& pool, const sys::Clock& clock, TimedLoop& loop,
               std::chrono::nanoseconds sample) {
  const double wanted = weir::seconds(sample);
  constexpr std::uint64_t kMost = 1'000'000'000;
  constexpr int kTries = 4;
  loop.repeats = 1;
  // A worker that lost its core makes one try look long; then the shortest of a few counts.
  while (loop.repeats < kMost) {
    Timing timing = time_of(pool, clock, loop, loop.repeats);
    double took = timing.seconds;
    for (int again = 0; again < kTries && !timing.clean; ++again) {
      timing = time_of(pool, clock, loop, loop.repeats);
      took = std::min(took, timing.seconds);
    }
    if (took >= wanted / 2) return;
    const double factor = std::clamp(wanted / took, 2.0, 100.0);
    loop.repeats =
        std::min(kMost, static_cast<std::uint64_t>(static_cast<double>(loop.repeats) * factor));
  }
}

Sample sample_once(ThreadPool& pool, const sys::Clock& clock, const TimedLoop& loop) {
  return sample_of(pool, clock, loop, 1);
}

Sample sample_of(ThreadPool& pool, const sys::Clock& clock, const TimedLoop& loop,
                 std::uint32_t tries) {
  Sample sample;
  for (std::uint32_t i = 0; i < tries && !sample.clean; ++i) {
    const std::uint64_t repeats = std::max<std::uint64_t>(1, loop.repeats >> std::min(i, 2U));
    const Timing timing = time_of(pool, clock, loop, repeats);
    sample = {loop.amount * static_cast<double>(repeats) / timing.seconds, timing.clean};
  }
  return sample;
}

}  // namespace weir::compute
