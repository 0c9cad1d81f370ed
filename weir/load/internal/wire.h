#pragma once

/// Requests in the air over kept connections: each begins on an idle connection when there is one,
/// and lands exactly once. Thread safety: none; all on the io_context's one thread. Handlers are
/// never called from within fly().

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/load/flight.h"
#include "weir/load/target.h"

namespace weir::load {

class Wire {
 public:
  using Landed = std::function<void(std::uint32_t index, Flight& flight)>;

  /// `landed` is called when a flight has ended, after its connection was kept or closed.
  Wire(boost::asio::io_context& io, std::size_t requests, Landed landed)
      : io_(io), landed_(std::move(landed)), active_(requests) {}

  /// Takes the first of the host's addresses that accepts a connection. Blocks.
  [[nodiscard]] Status find(const Target& target);

  /// Instants count from here.
  void start(std::chrono::steady_clock::time_point at) { start_ = at; }
  [[nodiscard]] Instant now() const { return std::chrono::steady_clock::now() - start_; }

  /// `message`, a whole HTTP request, must stay as it is until the flight has landed.
  /// REQUIRES: `index` is not in the air.
  void fly(std::uint32_t index, std::string_view message, const FlightSpec& spec);

  /// In the air, and no text has come.
  [[nodiscard]] bool awaits_first_token(std::uint32_t index) const;

  /// Lands it now by closing its connection; nothing when it is not in the air.
  void hang_up(std::uint32_t index, measure::Outcome outcome, std::string_view detail);

  /// Hangs up on all that is in the air, and closes what is idle.
  void close_all(measure::Outcome outcome, std::string_view detail);

 private:
  struct Connection;
  using ConnectionPtr = std::shared_ptr<Connection>;
  [[nodiscard]] static bool carries(const Connection& connection, std::uint32_t index);
  [[nodiscard]] ConnectionPtr take_connection();
  void write(const ConnectionPtr& connection);
  void wait_for_bytes(const ConnectionPtr& connection);
  void read(const ConnectionPtr& connection);
  void fall(const ConnectionPtr& connection, const boost::system::error_code& error);
  void land(ConnectionPtr connection);

  boost::asio::io_context& io_;
  Landed landed_;
  boost::asio::ip::tcp::endpoint endpoint_;
  std::chrono::steady_clock::time_point start_;
  std::vector<ConnectionPtr> active_;  ///< By index; null when not in the air.
  std::vector<ConnectionPtr> idle_;
  bool over_ = false;
  /// One for all: bytes are waited for without a buffer, and read when they are there.
  std::array<char, std::size_t{64} * 1024> buffer_;
};

}  // namespace weir::load
