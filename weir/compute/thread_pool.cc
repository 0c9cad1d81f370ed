#include "weir/compute/thread_pool.h"

#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "weir/base/check.h"
#include "weir/base/math.h"
#include "weir/compute/buffer.h"

namespace weir::compute {
namespace {

// Two lines: the adjacent-line prefetcher of x86 pulls pairs.
constexpr std::size_t kFalseSharing = 128;
// About 40 us of pauses on the machines measured (65 cycles each on Zen 3, 140 on Skylake), close
// to the futex wake it saves; then the core is offered to whoever else is runnable.
constexpr int kSpins = 2000;
constexpr int kYields = 50;                // Before whoever waits goes to sleep.
constexpr unsigned kFlushToZero = 0x8040;  // MXCSR: FTZ (bit 15) and DAZ (bit 6).

/// Subnormals cost a microcode assist each and mean nothing here: flushed while kernels run, and
/// the caller's mode is put back after. Every worker rounds to nearest even.
class FlushSubnormals {
 public:
  FlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(kDefault | kFlushToZero); }
  ~FlushSubnormals() { _mm_setcsr(saved_); }
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1F80;  // All exceptions masked, round to nearest even.
  unsigned saved_;
};

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
  // What a run is: written by the owner before `run` changes.
  void (*call)(void*, const Team&) = nullptr;
  void* function = nullptr;
  bool stop = false;
  std::size_t workers = 1;
  std::vector<std::thread> threads;
  AlignedBuffer<std::byte> scratch;

  /// Counts runs; workers sleep on it.
  alignas(kFalseSharing) std::atomic<std::uint32_t> run{0};
  /// Of the barrier: how many have come, and how often it has opened.
  alignas(kFalseSharing) std::atomic<std::uint32_t> arrived{0};
  alignas(kFalseSharing) std::atomic<std::uint32_t> opened{0};

  /// Waits while `value` is `seen`: spins, yields, sleeps. A peer that has lost its core to
  /// somebody else may not be back for milliseconds; time not burnt meanwhile is time the scheduler
  /// owes us.
  static void await_change(const std::atomic<std::uint32_t>& value, std::uint32_t seen) {
    for (int spins = 0; spins < kSpins + kYields; ++spins) {
      if (value.load(std::memory_order_acquire) != seen) return;
      if (spins < kSpins) {
        _mm_pause();
      } else {
        sched_yield();
      }
    }
    value.wait(seen, std::memory_order_acquire);
  }

  void barrier() {
    const std::uint32_t seen = opened.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == workers) {
      arrived.store(0, std::memory_order_relaxed);
      opened.store(seen + 1, std::memory_order_release);
      opened.notify_all();  // Without sleepers this is a load.
      return;
    }
    await_change(opened, seen);
  }
};

ThreadPool::ThreadPool(std::size_t workers) : impl_(std::make_unique<Impl>()) {
  WEIR_CHECK(workers >= 1, "a pool has at least its caller");
  impl_->workers = workers;
  impl_->scratch = AlignedBuffer<std::byte>(workers * Team::kScratchBytes);
  impl_->threads.reserve(workers - 1);
  for (std::size_t index = 1; index < workers; ++index) {
    impl_->threads.emplace_back([this, index] {
      const FlushSubnormals mode;
      Impl& pool = *impl_;
      const Team team(*this, index, pool.workers);
      for (std::uint32_t seen = 0;; ++seen) {
        Impl::await_change(pool.run, seen);
        if (pool.stop) return;
        pool.call(pool.function, team);
        pool.barrier();
      }
    });
  }
}

ThreadPool::~ThreadPool() {
  impl_->stop = true;
  impl_->run.fetch_add(1, std::memory_order_release);
  impl_->run.notify_all();
  for (std::thread& t : impl_->threads) t.join();
}

std::size_t ThreadPool::workers() const { return impl_->workers; }

void ThreadPool::Team::barrier() const {
  if (workers_ > 1) pool_.impl_->barrier();
}

std::span<std::byte> ThreadPool::Team::scratch() const { return pool_.impl_->scratch.span(); }

void ThreadPool::run_erased(void (*call)(void*, const Team&), void* function) {
  const FlushSubnormals mode;
  const Team team(*this, 0, impl_->workers);
  if (impl_->workers > 1) {
    impl_->call = call;
    impl_->function = function;
    impl_->run.fetch_add(1, std::memory_order_release);
    impl_->run.notify_all();
  }
  call(function, team);
  team.barrier();
}

}  // namespace weir::compute
