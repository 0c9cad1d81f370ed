#pragma once

/// One engine as an OpenAI-compatible service: routes, credentials, endpoints. Every route declares
/// who may call it; without a declaration a key is needed.
///
/// Life: construct, hand handler() to http::Server, drain() when leaving, destroy after the server
/// and before the engine. Thread safety: handle() on the server's thread; drain() from any.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/engine/engine.h"
#include "weir/http/exchange.h"
#include "weir/server/answer_plan.h"
#include "weir/server/metrics.h"
#include "weir/server/request_log.h"
#include "weir/server/served_model.h"
#include "weir/server/worker.h"
#include "weir/sys/clock.h"

namespace weir::server {

struct ServiceOptions {
  std::vector<std::string> api_keys;  ///< Empty: nobody needs one.
  std::string cors_origin;  ///< What browsers may call us from ("*" or one origin); empty: none.
  std::string version;
  std::size_t workers = 2;             ///< Threads that decode and tokenise.
  std::size_t max_waiting_jobs = 256;  ///< Requests that wait for them; one more is told 429.
  /// Callers with different keys may find each other's prompts in the prefix cache. Off, since the
  /// time to the first token then tells one what another has asked.
  bool share_prefixes = false;
  /// Every request ends after this, and may not ask for longer; zero: it may take as long as it
  /// does.
  std::chrono::milliseconds max_request_time{0};
  /// A step that has run this long will not end: not ready any more.
  std::chrono::seconds stuck_after{60};
  Metrics* metrics = nullptr;  ///< Outlives the service; none: no /metrics.
  /// Told of every fault of our own with the id of its request: the client only learns that it was
  /// one.
  std::function<void(std::string_view request_id, const Error& error)> on_fault;
};

class Service {
 public:
  /// `engine` and `clock` outlive the service.
  Service(ServedModel model, engine::Engine& engine, const sys::Clock& clock,
          ServiceOptions options);
  ~Service();

  void handle(const std::shared_ptr<http::Exchange>& exchange);
  /// From now on not ready; running answers go on.
  void drain() { draining_.store(true); }

 private:
  using Exchange = std::shared_ptr<http::Exchange>;
  enum class Auth : std::uint8_t { kKey, kOpen };
  struct Route {
    std::string_view method;
    std::string_view path;  ///< One that ends in '/' takes all below it.
    void (Service::*endpoint)(const Exchange&);
    Auth auth = Auth::kKey;
  };
  static const Route kRoutes[];

  /// Whose key the request carries, 1 for the first; 0 where nobody needs one; nothing: a stranger.
  [[nodiscard]] std::optional<std::uint32_t> caller(const http::Request& request) const;
  [[nodiscard]] std::vector<http::Header> cors_headers() const;
  void answer_error(const Exchange& exchange, const Error& error) const;
  void answer_json(const Exchange& exchange, std::string body, int status = 200) const;
  void answer_options(const Exchange& exchange, const std::string& allow) const;

  void live(const Exchange& exchange);
  void ready(const Exchange& exchange);
  void version(const Exchange& exchange);
  void models(const Exchange& exchange);
  void model(const Exchange& exchange);
  void chat(const Exchange& exchange);
  void completion(const Exchange& exchange);
  void metrics(const Exchange& exchange);
  void request(const Exchange& exchange);
  using Planner = Result<AnswerPlan> (*)(std::string_view, const ServedModel&, const Asking&);
  [[nodiscard]] Result<Asking> asking(const http::Request& request) const;
  void generate(const Exchange& exchange, Planner planner);

  const std::shared_ptr<const ServedModel> model_;
  engine::Engine& engine_;
  const sys::Clock& clock_;
  const ServiceOptions options_;
  std::atomic<bool> draining_{false};
  RequestLog log_;
  Worker worker_;
};

}  // namespace weir::server
