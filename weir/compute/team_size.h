#pragma once

/// How many workers a pool should run with when others want its cores too. A worker that has lost
/// its core holds up the whole team at the next barrier, so that two workers on a core and a half
/// are slower than one on its own. From what workers waited for each other in a run: with n
/// workers, run time t and waiting w in all, the team has done n t - w of work in t; n - 1
/// undisturbed workers would have done (n - 1) t, so one fewer is better when w > t.
///
/// Results do not depend on the number of workers, so it may change between runs. Pure: time comes
/// in. Thread safety: none, the pool's owner calls it.

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace weir::compute {

class TeamSize {
 public:
  using Duration = std::chrono::nanoseconds;  ///< Points in time are durations since any epoch.

  /// Runs shorter than this say more about waking than about a core that is gone.
  static constexpr Duration kShortest = std::chrono::microseconds(300);
  /// Of runs that lose, before one worker is left out: one may be an accident.
  static constexpr int kStrikes = 2;
  /// Until the worker is tried again; doubled every time that goes wrong. A lost try takes a few
  /// steps' time, so the longest pause bounds what trying costs to a percent or two.
  static constexpr Duration kFirstPause = std::chrono::milliseconds(50);
  static constexpr Duration kLongestPause = std::chrono::seconds(2);

  /// REQUIRES: most >= 1.
  explicit TeamSize(std::size_t most) : most_(most), size_(most) {}

  /// Workers of a run that begins now.
  [[nodiscard]] std::size_t next(Duration now) const {
    return size_ < most_ && now >= try_at_ ? size_ + 1 : size_;
  }

  /// A run of `size` workers (what next() gave) ended `now`, took `took`, and its workers waited
  /// `waited` in all.
  void ran(std::size_t size, Duration took, Duration waited, Duration now) {
    if (took < kShortest) return;
    const bool lost = waited > took;
    if (size > size_) {
      if (lost) {
        put_off(now);
      } else {
        size_ = size;
        strikes_ = 0;
      }
      return;
    }
    strikes_ = lost ? strikes_ + 1 : 0;
    if (!lost && now > try_at_ + kLongestPause) pause_ = kFirstPause;  // Long quiet since.
    if (strikes_ < kStrikes || size_ == 1) return;
    --size_;
    strikes_ = 0;
    put_off(now);
  }

 private:
  void put_off(Duration now) {
    try_at_ = now + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
  }

  std::size_t most_;
  std::size_t size_;
  int strikes_ = 0;
  Duration pause_ = kFirstPause;
  Duration try_at_{0};
};

}  // namespace weir::compute
