#include "weir/compute/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "weir/base/check.h"
#include "weir/base/math.h"
#include "weir/compute/buffer.h"
#include "weir/compute/processor.h"
#include "weir/compute/team_size.h"

namespace weir::compute {
namespace {

// Two lines: the adjacent-line prefetcher of x86 pulls pairs.
constexpr std::size_t kFalseSharing = 128;
// About 40 us of waits on the machines measured, close to the futex wake it saves; then the core is
// offered to whoever else is runnable.
constexpr int kSpins = 2000;
constexpr int kYields = 50;  // Before whoever waits goes to sleep.

/// Subnormals cost x86 a microcode assist each and mean nothing here: flushed while kernels run,
/// and the caller's mode is put back after. Every worker rounds to nearest even.
class FlushSubnormals {
 public:
  FlushSubnormals() : saved_(float_mode()) { set_float_mode(kFlushingMode); }
  ~FlushSubnormals() { set_float_mode(saved_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  std::uint64_t saved_;
};

/// Bits of a run's word for its team.
constexpr unsigned kTeamBits = 10;
constexpr std::uint32_t kTeamMask = (1U << kTeamBits) - 1;

TeamSize::Duration now() { return std::chrono::steady_clock::now().time_since_epoch(); }

}  // namespace

Share share_of(std::size_t count, std::size_t index, std::size_t workers, std::size_t grain) {
  const std::size_t grains = ceil_div(count, grain);
  const std::size_t each = grains / workers;
  const std::size_t extra = grains % workers;  // The first `extra` workers own one more.
  const std::size_t begin = each * index + std::min(index, extra);
  const std::size_t end = begin + each + (index < extra ? 1 : 0);
  return {std::min(begin * grain, count), std::min(end * grain, count)};
}

struct ThreadPool::Impl {
  Impl(std::size_t workers, Sizing how) : most(workers), sizing(how), size(workers) {}

  // Constant after construction.
  const std::size_t most;
  const Sizing sizing;
  // What a run is: written by the owner before `run` changes.
  void (*call)(void*, const Team&) = nullptr;
  void* function = nullptr;
  bool stop = false;
  TeamSize size;  // The owner's.
  std::vector<std::thread> threads;
  AlignedBuffer<std::byte> scratch;

  /// Counts runs, above kTeamBits bits of how many workers it has; workers sleep on it. One word,
  /// so that a worker who is late, and not of this run's team, cannot take it for another.
  alignas(kFalseSharing) std::atomic<std::uint32_t> run{0};
  /// Of the barrier: how many have come, and how often it has opened.
  alignas(kFalseSharing) std::atomic<std::uint32_t> arrived{0};
  alignas(kFalseSharing) std::atomic<std::uint32_t> opened{0};
  /// Nanoseconds that workers of this run have waited past spinning.
  alignas(kFalseSharing) std::atomic<std::int64_t> waited{0};

  /// Waits while `value` is `seen`: spins, yields, sleeps. A peer that has lost its core to
  /// somebody else may not be back for milliseconds; time not burnt meanwhile is time the scheduler
  /// owes us.
  static bool spin(const std::atomic<std::uint32_t>& value, std::uint32_t seen) {
    for (int spins = 0; spins < kSpins; ++spins) {
      if (value.load(std::memory_order_acquire) != seen) return true;
      wait_a_little();
    }
    return false;
  }
  static void sleep(const std::atomic<std::uint32_t>& value, std::uint32_t seen) {
    for (int yields = 0; yields < kYields; ++yields) {
      if (value.load(std::memory_order_acquire) != seen) return;
      sched_yield();
    }
    value.wait(seen, std::memory_order_acquire);
  }

  void barrier(std::size_t team) {
    const std::uint32_t seen = opened.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == team) {
      arrived.store(0, std::memory_order_relaxed);
      opened.store(seen + 1, std::memory_order_release);
      opened.notify_all();  // Without sleepers this is a load.
      return;
    }
    if (spin(opened, seen)) return;
    const TeamSize::Duration began = now();
    sleep(opened, seen);
    waited.fetch_add((now() - began).count(), std::memory_order_relaxed);
  }

  void work(ThreadPool& pool, std::size_t index) {
    const FlushSubnormals mode;
    for (std::uint32_t seen = 0;;) {
      if (!spin(run, seen)) sleep(run, seen);
      seen = run.load(std::memory_order_acquire);
      const std::size_t team = seen & kTeamMask;
      if (index >= team) continue;  // What else a run is may be changing already.
      if (stop) return;
      call(function, Team(pool, index, team));
      barrier(team);
    }
  }

  void start(std::size_t team) {
    const std::uint32_t runs = run.load(std::memory_order_relaxed) >> kTeamBits;
    run.store((runs + 1) << kTeamBits | static_cast<std::uint32_t>(team),
              std::memory_order_release);
    run.notify_all();
  }
};

ThreadPool::ThreadPool(std::size_t workers, Sizing sizing)
    : impl_(std::make_unique<Impl>(workers, sizing)) {
  WEIR_CHECK(workers >= 1 && workers <= kTeamMask, "a pool has at least its caller");
  impl_->scratch = AlignedBuffer<std::byte>(workers * Team::kScratchBytes);
  impl_->threads.reserve(workers - 1);
  for (std::size_t index = 1; index < workers; ++index) {
    impl_->threads.emplace_back([this, index] { impl_->work(*this, index); });
  }
}

ThreadPool::~ThreadPool() {
  impl_->stop = true;
  impl_->start(workers());
  for (std::thread& t : impl_->threads) t.join();
}

std::size_t ThreadPool::workers() const { return impl_->most; }
std::uint32_t ThreadPool::barriers() const { return impl_->opened.load(std::memory_order_relaxed); }

void ThreadPool::Team::barrier() const {
  if (workers_ > 1) pool_.impl_->barrier(workers_);
}

std::span<std::byte> ThreadPool::Team::scratch() const { return pool_.impl_->scratch.span(); }

void ThreadPool::run_erased(void (*call)(void*, const Team&), void* function) {
  const FlushSubnormals mode;
  Impl& pool = *impl_;
  const bool adaptive = pool.sizing == Sizing::kAdaptive && pool.most > 1;
  const TeamSize::Duration began = adaptive ? now() : TeamSize::Duration{};
  const std::size_t size = adaptive ? pool.size.next(began) : pool.most;
  if (size > 1) {
    pool.waited.store(0, std::memory_order_relaxed);
    pool.call = call;
    pool.function = function;
    pool.start(size);
  }
  const Team team(*this, 0, size);
  call(function, team);
  team.barrier();
  if (!adaptive) return;
  const TeamSize::Duration ended = now();
  const TeamSize::Duration waited(size > 1 ? pool.waited.load(std::memory_order_relaxed) : 0);
  pool.size.ran(size, ended - began, waited, ended);
}

}  // namespace weir::compute
