#pragma once

/// A server whose delays are known, to measure a client with: it answers OpenAI's generation
/// endpoints with max_tokens pieces of text, the first after `first` and each other `gap` later,
/// and embeddings after `first`. With no delays an answer is one write, and the rate it is read at
/// is the client's ceiling. It writes down when it did what, by the same monotonic clock the client
/// reads. Thread safety: start, stop and log from one thread; it serves on a thread of its own.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/spec/time.h"

namespace weir::load {

struct EchoOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: any free one.
  Duration first{0};
  Duration gap{0};
  /// From `stall_at` after its start it does nothing at all for `stall_for`, and then catches up.
  Duration stall_at = Duration::max();
  Duration stall_for{0};
  std::uint32_t overhead_tokens = 7;  ///< Added to the words of a prompt, as a chat template does.
  std::uint32_t fail_every = 0;       ///< Each so-manieth request is answered with status 500.
};

/// What the server did for one request, in steady_clock time.
struct EchoRecord {
  std::chrono::steady_clock::time_point received;  ///< The whole request was read.
  std::chrono::steady_clock::time_point first;     ///< Before the first piece was written.
  std::chrono::steady_clock::time_point last;
  std::uint32_t pieces = 0;
  bool hung_up = false;  ///< The client left first.
};

class EchoServer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<EchoServer>> start(const EchoOptions& options);
  ~EchoServer();  ///< Stops it.

  [[nodiscard]] std::uint16_t port() const;
  /// Ends the thread. Answers under way are dropped.
  void stop();
  /// In order of receipt. REQUIRES: stopped.
  [[nodiscard]] const std::vector<EchoRecord>& log() const;

 private:
  struct State;
  explicit EchoServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weir::load
