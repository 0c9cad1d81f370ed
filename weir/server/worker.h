#pragma once

/// A few threads and a bounded queue, for work that would hold up the connections' thread:
/// decoding, templating and tokenising what may be megabytes. Thread safety: run() from any thread.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weir::server {

class Worker {
 public:
  /// `max_waiting` jobs may wait beside those that run.
  Worker(std::size_t threads, std::size_t max_waiting);
  /// Drops what waits, joins what runs.
  ~Worker();

  /// False when the queue is full; the job is then dropped. A job that throws ends alone.
  [[nodiscard]] bool run(std::function<void()> job);

 private:
  void loop();

  const std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;  // guarded by mutex_
  bool stopping_ = false;                   // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace weir::server
