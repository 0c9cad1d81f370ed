#include "weir/http/server.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "weir/http/internal/session.h"

namespace weir::http {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Connections over the bound that may be told so at the same time; then accepting pauses.
constexpr std::size_t kRefusing = 64;
/// Out of descriptors: how long until the next try.
constexpr std::chrono::milliseconds kAcceptPause{50};

void spawn(const std::shared_ptr<Core>& core, std::shared_ptr<Session> session, bool refuse) {
  auto* raw = session.get();
  // The completion holds the session to the coroutine's very end; a throw ends this connection
  // only.
  asio::co_spawn(core->io, refuse ? raw->refuse() : raw->run(),
                 [session = std::move(session), core](const std::exception_ptr& fault) {
                   if (fault) session->close();
                   if (core->on_session_end) core->on_session_end();
                 });
}

Error cannot_listen(const ServerOptions& options, const boost::system::error_code& fault) {
  const auto where = fmt::format("{}:{}", options.host, options.port);
  if (fault == asio::error::address_in_use) {
    return {
        Code::kUnavailable,
        fmt::format(
            "cannot listen on {}: the address is in use. `ss -ltnp 'sport = :{}'` shows by whom; "
            "choose another with --port",
            where, options.port),
        where};
  }
  return {Code::kIo, fmt::format("cannot listen on {}: {}", where, fault.message()), where};
}

}  // namespace

struct Server::Impl {
  Impl(ServerOptions options, Handler handler)
      : core(std::make_shared<Core>(std::move(options), std::move(handler))),
        acceptor(core->io),
        pause(core->io) {}

  Status listen() {
    const ServerOptions& options = core->options;
    boost::system::error_code fault;
    tcp::resolver resolver(core->io);
    const auto found =
        resolver.resolve(options.host, std::to_string(options.port),
                         tcp::resolver::passive | tcp::resolver::numeric_service, fault);
    if (fault || found.empty()) {
      return fail(Code::kInvalidArgument,
                  fmt::format("cannot listen on {}: not an address of this machine ({})",
                              options.host, fault.message()),
                  "host");
    }
    const tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor.open(endpoint.protocol(), fault);
    if (!fault) acceptor.set_option(tcp::acceptor::reuse_address(true), fault);
    if (!fault) acceptor.bind(endpoint, fault);
    if (!fault) acceptor.listen(1024, fault);
    if (fault) return std::unexpected(cannot_listen(options, fault));
    port = acceptor.local_endpoint(fault).port();
    const bool v6 = endpoint.address().is_v6();
    url = fmt::format("http://{}{}{}:{}", v6 ? "[" : "", endpoint.address().to_string(),
                      v6 ? "]" : "", port);
    return {};
  }

  asio::awaitable<void> accept_all() {
    const auto& options = core->options;
    while (acceptor.is_open()) {
      boost::system::error_code fault;
      if (core->sessions.size() >= options.max_connections + kRefusing) {
        pause.expires_at(std::chrono::steady_clock::time_point::max());
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, fault));
        continue;
      }
      tcp::socket socket =
          co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, fault));
      if (fault) {
        if (!acceptor.is_open()) co_return;
        pause.expires_after(kAcceptPause);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, fault));
        continue;
      }
      const bool full = core->sessions.size() >= options.max_connections;
      spawn(core, std::make_shared<Session>(core, std::move(socket)), full);
    }
  }

  void stop_accepting() {
    boost::system::error_code fault;
    acceptor.close(fault);
    pause.cancel();
  }

  std::shared_ptr<Core> core;
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  std::uint16_t port = 0;
  std::string url;
  std::thread thread;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Handler handler) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  WEIR_TRY_STATUS(impl->listen());
  impl->core->on_session_end = [raw = impl.get()] { raw->pause.cancel(); };
  asio::co_spawn(impl->core->io, impl->accept_all(), [](const std::exception_ptr&) {});
  impl->thread = std::thread([core = impl->core] {
    for (;;) {
      try {
        core->io.run();
        return;
      } catch (const std::exception&) {  // A callback of one request threw; the others go on.
      }
    }
  });
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::~Server() {
  Core& core = *impl_->core;
  core.post([impl = impl_.get()] {
    impl->stop_accepting();
    for (Session* session : std::unordered_set(impl->core->sessions)) session->close();
  });
  // With every connection closed nothing is left to wait for, so the thread runs out of work.
  impl_->thread.join();
  {
    const std::lock_guard lock(core.mutex);
    core.stopped = true;
  }
  core.io.restart();
  core.io.poll();  // What was posted between the last run and `stopped`.
}

std::uint16_t Server::port() const { return impl_->port; }
std::string Server::url() const { return impl_->url; }

void Server::drain() {
  impl_->core->post([impl = impl_.get()] {
    impl->core->draining = true;
    impl->stop_accepting();
  });
}

bool Server::wait_idle(std::chrono::milliseconds timeout) {
  std::unique_lock lock(impl_->core->mutex);
  return impl_->core->idle.wait_for(lock, timeout, [&] { return impl_->core->stats.active == 0; });
}

ServerStats Server::stats() const {
  const std::lock_guard lock(impl_->core->mutex);
  return impl_->core->stats;
}

}  // namespace weir::http
