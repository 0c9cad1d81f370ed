#pragma once

/// What the sessions of one server share.
/// Thread safety: as marked.

#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <unordered_set>

#include "weir/http/server.h"

namespace weir::http {

class Session;

struct Core {
  Core(ServerOptions o, Handler h) : options(std::move(o)), handler(std::move(h)) {}

  const ServerOptions options;
  const Handler handler;
  boost::asio::io_context io{1};

  // The server's thread only.
  std::unordered_set<Session*> sessions;
  bool draining = false;
  std::mt19937_64 random{std::random_device{}()};
  std::function<void()> on_session_end;

  std::mutex mutex;
  std::condition_variable idle;
  ServerStats stats;     // guarded by mutex
  bool stopped = false;  // guarded by mutex: nothing is posted any more

  void post(std::function<void()> work);
  std::string new_id();
};

}  // namespace weir::http
