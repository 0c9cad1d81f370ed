#pragma once

/// An HTTP/1.1 server: keep-alive, pipelining, chunked bodies both ways, streams under a watermark,
/// and a bound on everything a client can send, hold or delay. One thread runs all connections;
/// handlers must not block it.
///
/// Life: start() listens. drain() stops accepting and makes every answer the last of its
/// connection. The destructor drops what is left. Malformed input is answered and the connection
/// closed; it never reaches the handler. Thread safety: every public function from any thread.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/http/exchange.h"
#include "weir/http/request_parser.h"

namespace weir::http {

struct AccessRecord {
  std::string peer, method, path, id, note;  ///< Method is "-" when no request could be read.
  int status = 0;                            ///< 0: the client left before there was one.
  std::uint64_t bytes = 0;                   ///< Of the answer, head included.
  std::chrono::microseconds duration{0};     ///< From the whole request to the last byte written.
  bool gone = false;                         ///< The client left before the end.
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: any free one.
  ParserLimits limits;
  std::size_t max_connections = 1024;              ///< One more is told 503 and closed.
  std::chrono::milliseconds idle_timeout{75'000};  ///< Between requests of a connection.
  std::chrono::milliseconds header_timeout{
      10'000};  ///< From the first byte (or connecting) to whole headers.
  std::chrono::milliseconds body_timeout{60'000};  ///< From the headers to a whole body.
  std::chrono::milliseconds write_timeout{
      30'000};                ///< A client that takes not one byte for this long is dropped.
  int send_buffer_bytes = 0;  ///< The kernel's, per connection; 0 leaves it to the kernel.

  /// The body of an answer to what never reaches the handler; JSON.
  std::function<std::string(int status, std::string_view message)> error_body;
  /// Called once per answer, on the server's thread. May be empty.
  std::function<void(const AccessRecord&)> log;
};

struct ServerStats {
  std::uint64_t connections = 0;  ///< Accepted so far.
  std::uint64_t open = 0;         ///< Now.
  std::uint64_t requests = 0;     ///< That reached the handler.
  std::uint64_t answered = 0;     ///< Of them, to the last byte.
  std::uint64_t gone = 0;         ///< Of them, whose client left before.
  std::uint64_t active = 0;       ///< requests = answered + gone + active.
};

class Server {
 public:
  /// An address in use says how to find who holds it.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(ServerOptions options,
                                                             Handler handler);
  ~Server();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string url() const;  ///< "http://127.0.0.1:8080"

  void drain();
  /// True when no request is being answered, within `timeout`.
  [[nodiscard]] bool wait_idle(std::chrono::milliseconds timeout);
  [[nodiscard]] ServerStats stats() const;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::http
