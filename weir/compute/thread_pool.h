#pragma once

/// The kernel pool: a fixed set of workers that run one function together. The caller is worker 0,
/// so a pool of 2 uses exactly 2 threads. Workers spin briefly after work, then sleep (a futex wake
/// costs about 45 us in a virtual machine, more than a layer), and yield while spinning, so that a
/// busy neighbour on a core slows a step down by its share and no more.
///
/// While it runs, subnormal numbers are flushed to zero in every worker, the caller included.
/// Results never depend on the number of workers: every output element is computed whole by one
/// worker. Thread safety: run() from one thread at a time, the owner.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace weir::compute {

/// The half-open share [begin, end) of `count` items that worker `index` of `workers` owns,
/// in multiples of `grain`.
struct Share {
  std::size_t begin;
  std::size_t end;
};
[[nodiscard]] Share share_of(std::size_t count, std::size_t index, std::size_t workers,
                             std::size_t grain = 1);

class ThreadPool {
 public:
  /// Whether every run has all workers, or fewer while somebody else uses their cores
  /// (team_size.h).
  enum class Sizing : std::uint8_t { kFixed, kAdaptive };

  /// REQUIRES: workers >= 1.
  explicit ThreadPool(std::size_t workers, Sizing sizing = Sizing::kFixed);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The most that a run may have.
  [[nodiscard]] std::size_t workers() const;
  /// How often workers have waited for each other, also at the end of a run; it wraps. The owner's.
  [[nodiscard]] std::uint32_t barriers() const;

  /// What a running function sees of its team.
  class Team {
   public:
    static constexpr std::size_t kScratchBytes = std::size_t{256} << 10;

    [[nodiscard]] std::size_t index() const { return index_; }
    [[nodiscard]] std::size_t workers() const { return workers_; }
    /// All workers wait here for each other; writes before it are seen after it.
    void barrier() const;
    /// kScratchBytes per worker, shared by the team and aligned to a cache line; what it holds ends
    /// with the next function that uses it.
    [[nodiscard]] std::span<std::byte> scratch() const;
    /// This worker's part of it.
    [[nodiscard]] std::span<std::byte> own_scratch() const {
      return scratch().subspan(index_ * kScratchBytes, kScratchBytes);
    }
    [[nodiscard]] Share share(std::size_t count, std::size_t grain = 1) const {
      return share_of(count, index_, workers_, grain);
    }

   private:
    friend class ThreadPool;
    Team(ThreadPool& pool, std::size_t index, std::size_t workers)
        : pool_(pool), index_(index), workers_(workers) {}
    ThreadPool& pool_;
    std::size_t index_;
    std::size_t workers_;
  };

  /// Runs `work(team)` once on every worker of this run and returns when all are done. Does not
  /// allocate. `work` must not throw.
  template <class F>
  void run(F&& work) {
    run_erased(
        [](void* f, const Team& team) { (*static_cast<std::remove_reference_t<F>*>(f))(team); },
        &work);
  }

 private:
  void run_erased(void (*call)(void*, const Team&), void* function);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::compute
