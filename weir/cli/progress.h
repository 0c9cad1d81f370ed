#pragma once

/// Long work shown to a person, on standard error: one line that redraws itself on a terminal, a
/// plain line every few seconds when standard error is a file or a pipe, nothing when quiet. Thread
/// safety: none; one thread.

#include <chrono>
#include <cstdint>
#include <string>

#include "weir/hub/progress.h"

namespace weir::cli {

class ProgressPrinter {
 public:
  explicit ProgressPrinter(bool quiet);
  ~ProgressPrinter() { done(); }
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  void pulling(const hub::Progress& progress);
  void loading(std::uint64_t done_bytes, std::uint64_t total_bytes);
  /// Plain lines, indented.
  void lines(const std::string& text);
  /// Clears the redrawn line.
  void done();

 private:
  void bar(const std::string& what, std::uint64_t done_bytes, std::uint64_t total_bytes);
  void line(const std::string& text, bool at_once);

  const bool quiet_;
  const bool terminal_;
  bool drawn_ = false;
  std::string last_;
  std::chrono::steady_clock::time_point began_{};
  std::uint64_t began_bytes_ = 0;
  std::chrono::steady_clock::time_point said_{};
};

}  // namespace weir::cli
