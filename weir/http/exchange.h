#pragma once

/// One request being answered: the handle a handler is given. The answer is either respond(), or
/// start_stream(), any number of write() and one of end() or fail(). A handle dropped without an
/// answer answers 500, so a request always gets one.
///
/// The client leaving is noticed at once, also while nothing is being written: on_gone runs and
/// what is written from then on goes nowhere. (A client that shuts down its sending side before the
/// answer counts as gone: at that moment a full close looks the same.)
///
/// Thread safety: post() and gone() from any thread, everything else on the server's thread, where
/// handlers and all callbacks run and where nothing may block.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weir/http/message.h"

namespace weir::http {

class Session;

class Exchange {
 public:
  /// Made by the server only.
  Exchange(std::shared_ptr<Session> session, std::uint64_t serial, Request request);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] const Request& request() const { return request_; }
  [[nodiscard]] Request& request() { return request_; }

  /// Runs `work` on the server's thread; drops it if the server has stopped.
  void post(std::function<void()> work);

  void respond(Response response);

  /// Sends the status and headers; the body follows by write(). `head.body` is sent first.
  void start_stream(Response head);
  void write(std::string_view bytes);
  void end();
  /// The answer cannot be completed: the connection closes without the end of the body.
  void fail();

  [[nodiscard]] bool gone() const { return gone_.load(std::memory_order_relaxed); }
  void on_gone(std::function<void()> callback);

  /// Bytes written and not yet given to the kernel. Above kHighWater stop producing and wait for
  /// on_writable, which runs once, when kLowWater is reached.
  [[nodiscard]] std::size_t unsent_bytes() const;
  void on_writable(std::function<void()> callback);
  static constexpr std::size_t kHighWater = 64 * 1024;
  static constexpr std::size_t kLowWater = 16 * 1024;

  /// Words for the access log.
  void note(std::string words);

 private:
  friend class Session;
  const std::shared_ptr<Session> session_;
  const std::uint64_t serial_;  ///< Which of the session's exchanges this is.
  Request request_;
  std::atomic<bool> gone_{false};
};

using Handler = std::function<void(std::shared_ptr<Exchange>)>;

}  // namespace weir::http
