#pragma once

/// One connection: requests in, answers out, one after another. A single coroutine waits on a
/// single thing, "something changed or a deadline passed"; reads and writes run beside it and
/// report changes. So at every moment the client's leaving can be seen and every wait has its end.
/// Thread safety: the server's thread only, save what Exchange says.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "weir/http/internal/core.h"

namespace weir::http {

class Session : public std::enable_shared_from_this<Session> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Session(std::shared_ptr<Core> core, boost::asio::ip::tcp::socket socket);
  ~Session();

  boost::asio::awaitable<void> run();
  /// Over the bound on connections: says so and closes.
  boost::asio::awaitable<void> refuse();
  void close();  ///< Now; whoever waits is told.

  // For Exchange. A serial that is not the current one is a handle outlived by its connection's
  // story.
  void post(std::function<void()> work);
  void respond(std::uint64_t serial, Response response);
  void start_stream(std::uint64_t serial, Response head);
  void write(std::uint64_t serial, std::string_view bytes);
  void end(std::uint64_t serial, bool whole);
  void dropped(std::uint64_t serial);
  void on_gone(std::uint64_t serial, std::function<void()> callback);
  void on_writable(std::uint64_t serial, std::function<void()> callback);
  void note(std::uint64_t serial, std::string words);
  std::size_t unsent_bytes() const { return outbox_.size() + writing_.size() - written_; }

 private:
  enum class Answer : std::uint8_t { kNone, kStreaming, kComplete };

  boost::asio::awaitable<bool> read_request(RequestParser& parser, bool first);
  boost::asio::awaitable<void> answer(Request request);
  boost::asio::awaitable<void> flush();
  boost::asio::awaitable<void> linger();
  boost::asio::awaitable<void> wait(Time deadline);

  void changed() { wake_.cancel(); }
  void read_more();
  void write_more();
  void write_step();
  void answer_fault(int status, std::string_view message);
  void put_head(const Response& response, std::size_t body_bytes, bool stream);
  void put_chunk(std::string_view bytes);
  void tell_gone();
  void log_exchange(int status_if_none);
  [[nodiscard]] bool is_current(std::uint64_t serial) const;
  [[nodiscard]] Time write_deadline() const;

  const std::shared_ptr<Core> core_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer wake_;
  std::string peer_;

  std::string inbox_;
  std::string read_buffer_;
  bool reading_ = false;
  bool eof_ = false;
  bool open_ = true;
  bool broken_ = false;  ///< No more can be read or written.

  std::string outbox_;
  std::string writing_;
  std::size_t written_ = 0;  ///< Of writing_.
  bool write_active_ = false;
  Time progress_{};  ///< When the kernel last took bytes.

  // The current exchange.
  std::uint64_t serial_ = 0;
  std::weak_ptr<Exchange> handle_;
  Answer answer_ = Answer::kComplete;
  bool head_only_ = false;
  bool chunked_ = false;
  bool keep_alive_ = true;
  bool cut_ = false;  ///< End the connection without ending the body.
  AccessRecord record_;
  Time began_{};
  std::function<void()> gone_;
  std::function<void()> writable_;
};

}  // namespace weir::http
