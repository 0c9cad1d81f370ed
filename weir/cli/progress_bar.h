#pragma once

/// The progress of a pull on standard error: one line redrawn on a terminal, a plain line at every
/// stage and every few seconds elsewhere, nothing when quiet.
/// Thread safety: one thread. The destructor leaves the cursor at the start of a line.

#include <chrono>
#include <cstdint>
#include <string>

#include "weir/hub/progress.h"

namespace weir::cli {

/// Bytes per second over the last few seconds, and so the time left. Fed with the time, so that it
/// can be tested without one.
class Rate {
 public:
  void add(std::uint64_t bytes, std::chrono::duration<double> at);
  [[nodiscard]] double bytes_per_second() const { return rate_; }
  /// Negative when not known.
  [[nodiscard]] double seconds_left(std::uint64_t bytes) const {
    return rate_ > 0 ? static_cast<double>(bytes) / rate_ : -1;
  }

 private:
  bool begun_ = false;
  std::uint64_t bytes_ = 0;
  std::chrono::duration<double> at_{};
  double rate_ = 0;
};

/// "smollm2  [=====>     ]  42%  41.3 / 98.4 MB  12.1 MB/s  5 s left", at most `columns` wide.
[[nodiscard]] std::string draw_progress(const hub::Progress& progress, const Rate& rate,
                                        std::size_t columns);

class ProgressBar {
 public:
  explicit ProgressBar(bool quiet);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(const hub::Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  void show_on_terminal(const hub::Progress& progress);
  void show_as_lines(const hub::Progress& progress);

  bool quiet_;
  bool terminal_;
  bool open_line_ = false;
  hub::Stage stage_ = hub::Stage::kAsking;
  std::string file_;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point last_line_;
  std::uint64_t lines_bytes_ = 0;
  Rate rate_;
};

}  // namespace weir::cli
