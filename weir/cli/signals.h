#pragma once

/// Ctrl-C, a resized window and a resumed job as events that can be waited for together with input.
/// While an object lives these signals do not end the process.
/// Thread safety: one object at a time, the main thread's.

namespace weir::cli {

class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Whether Ctrl-C came since the last call.
  [[nodiscard]] bool interrupted();
  /// Whether the window changed or the job was resumed since the last call.
  [[nodiscard]] bool screen_changed();

  /// Blocks until `fd` can be read or a signal has come. False for a signal.
  [[nodiscard]] bool wait_readable(int fd);
};

}  // namespace weir::cli
