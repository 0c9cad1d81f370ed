#include "weir/load/internal/wire.h"

#include <fmt/format.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/write.hpp>

#include "weir/base/check.h"

namespace weir::load {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Tcp = asio::ip::tcp;

/// A connection, and the flight it carries now.
struct Wire::Connection {
  explicit Connection(asio::io_context& io) : socket(io) {}
  Tcp::socket socket;
  std::uint32_t index = 0;
  std::string_view message;
  FlightSpec spec;
  std::unique_ptr<Flight> flight;  ///< Null while idle, and once closed.
  bool reused = false;             ///< It carried another request before this one.
  bool writing = false;

  void close() {
    ErrorCode ignored;
    socket.close(ignored);
  }
};

Status Wire::find(const Target& target) {
  ErrorCode error;
  Tcp::resolver resolver(io_);
  const auto found = resolver.resolve(target.url.host, std::to_string(target.url.port), error);
  if (!error) {
    Tcp::socket probe(io_);
    endpoint_ = asio::connect(probe, found, error);
  }
  if (!error) return {};
  return fail(Code::kUnavailable, fmt::format("cannot connect to {}: {} (is the server running?)",
                                              target.text(), error.message()));
}

Wire::ConnectionPtr Wire::take_connection() {
  if (idle_.empty()) return std::make_shared<Connection>(io_);
  ConnectionPtr connection = std::move(idle_.back());
  idle_.pop_back();
  connection->reused = true;
  return connection;
}

bool Wire::carries(const Connection& connection, std::uint32_t index) {
  return connection.flight != nullptr && connection.index == index;
}

void Wire::fly(std::uint32_t index, std::string_view message, const FlightSpec& spec) {
  WEIR_CHECK(!active_[index], "a request is in the air once");
  const ConnectionPtr connection = take_connection();
  connection->index = index;
  connection->message = message;
  connection->spec = spec;
  connection->flight = std::make_unique<Flight>(spec);
  active_[index] = connection;
  if (connection->reused) return write(connection);
  connection->socket.async_connect(endpoint_, [this, connection, index](const ErrorCode& error) {
    if (!carries(*connection, index)) return;
    if (error) return fall(connection, error);
    ErrorCode ignored;
    connection->socket.set_option(Tcp::no_delay(true), ignored);
    connection->socket.non_blocking(true, ignored);
    write(connection);
  });
}

bool Wire::awaits_first_token(std::uint32_t index) const {
  return active_[index] && active_[index]->flight->record().pieces == 0;
}

void Wire::write(const ConnectionPtr& connection) {
  const std::uint32_t index = connection->index;
  connection->writing = true;
  asio::async_write(connection->socket, asio::buffer(connection->message),
                    [this, connection, index](const ErrorCode& error, std::size_t) {
                      connection->writing = false;
                      // A server that refuses a body may answer and close before it has it all.
                      if (error && carries(*connection, index) && !connection->flight->answered()) {
                        fall(connection, error);
                      }
                    });
  wait_for_bytes(connection);
}

void Wire::wait_for_bytes(const ConnectionPtr& connection) {
  const std::uint32_t index = connection->index;
  connection->socket.async_wait(Tcp::socket::wait_read,
                                [this, connection, index](const ErrorCode& error) {
                                  if (!carries(*connection, index)) return;
                                  if (error) return fall(connection, error);
                                  read(connection);
                                });
}

void Wire::read(const ConnectionPtr& connection) {
  while (true) {
    ErrorCode error;
    const std::size_t count = connection->socket.read_some(asio::buffer(buffer_), error);
    const Instant at = now();
    if (error == asio::error::would_block) break;
    if (error) return fall(connection, error);
    connection->flight->feed({buffer_.data(), count}, at);
    if (connection->flight->ended()) return land(connection);
    if (count < buffer_.size()) break;
  }
  wait_for_bytes(connection);
}

/// The connection failed, or the server closed it.
void Wire::fall(const ConnectionPtr& connection, const ErrorCode& error) {
  if (connection->reused && !connection->flight->answered() && !over_) {
    // It had been closed while it lay idle; the request was never taken.
    const std::uint32_t index = connection->index;
    connection->flight.reset();
    connection->close();
    active_[index].reset();
    return fly(index, connection->message, connection->spec);
  }
  connection->flight->cut(now(), error.message());
  land(connection);
}

void Wire::hang_up(std::uint32_t index, measure::Outcome outcome, std::string_view detail) {
  if (!active_[index]) return;
  active_[index]->flight->end(now(), outcome, detail);
  land(active_[index]);
}

void Wire::close_all(measure::Outcome outcome, std::string_view detail) {
  over_ = true;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    hang_up(static_cast<std::uint32_t>(i), outcome, detail);
  }
  for (const auto& connection : idle_) connection->close();
  idle_.clear();
}

void Wire::land(ConnectionPtr connection) {
  const std::unique_ptr<Flight> flight = std::move(connection->flight);
  active_[connection->index].reset();
  if (flight->keeps_connection() && !connection->writing && !over_) {
    idle_.push_back(connection);
  } else {
    connection->close();
  }
  landed_(connection->index, *flight);
}

}  // namespace weir::load
