#pragma once

/// A child process run to its end: arguments as given (no shell), nothing on its input, its output
/// captured up to a bound.
/// Thread safety: from any thread; the caller's thread waits.

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/result.h"

namespace weir::sys {

struct ProcessSpec {
  std::vector<std::string> arguments;  ///< [0] is looked up in PATH.
  std::vector<std::pair<std::string, std::string>>
      environment;                           ///< Added to, or replacing, our own.
  std::size_t max_output_bytes = 64 * 1024;  ///< Of each stream the LAST bytes are kept.
  std::chrono::milliseconds poll{200};
  /// Called about every `poll` while the child runs; false ends it (SIGTERM, after 2 s SIGKILL) and
  /// returns kCancelled.
  std::function<bool()> tick;
};

struct ProcessResult {
  int exit_code = 0;  ///< 128 + signal when a signal ended it, as shells say.
  std::string output;
  std::string errors;
};

/// kNotFound when the program does not exist, kPermission when it may not be run.
/// REQUIRES: arguments is not empty.
[[nodiscard]] Result<ProcessResult> run_process(const ProcessSpec& spec);

}  // namespace weir::sys
