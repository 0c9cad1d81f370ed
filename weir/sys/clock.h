#pragma once

/// Time as an object, so that what needs it is given it. Tests pass a ManualClock.
/// Thread safety: now() from any thread.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weir::sys {

class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint now() const = 0;  ///< Monotonic.
  [[nodiscard]] virtual std::int64_t unix_seconds()
      const = 0;  ///< Wall time, for people and wire fields.
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] std::int64_t unix_seconds() const override {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override {
    return TimePoint(std::chrono::nanoseconds(nanoseconds_.load()));
  }
  [[nodiscard]] std::int64_t unix_seconds() const override {
    return nanoseconds_.load() / 1'000'000'000;
  }
  void advance(std::chrono::nanoseconds by) { nanoseconds_ += by.count(); }

 private:
  std::atomic<std::int64_t> nanoseconds_{0};
};

}  // namespace weir::sys
