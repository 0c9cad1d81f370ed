#include "weir/server/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "weir/api/error.h"
#include "weir/api/json_text.h"
#include "weir/api/models.h"
#include "weir/server/answer.h"
#include "weir/server/respond.h"

namespace weir::server {
namespace {

bool starts_with_word(std::string_view text, std::string_view word) {  // ASCII, any case.
  return text.size() > word.size() &&
         std::equal(word.begin(), word.end(), text.begin(),
                    [](char w, char t) { return w == (t >= 'A' && t <= 'Z' ? t + 32 : t); });
}

}  // namespace

const Service::Route Service::kRoutes[] = {
    {"GET", "/health", &Service::ready, Auth::kOpen},
    {"GET", "/health/live", &Service::live, Auth::kOpen},
    {"GET", "/health/ready", &Service::ready, Auth::kOpen},
    {"GET", "/metrics", &Service::metrics, Auth::kOpen},  // Figures only, as scrapers expect.
    {"GET", "/v1/requests/", &Service::request, Auth::kKey},
    {"GET", "/version", &Service::version, Auth::kKey},
    {"GET", "/v1/models", &Service::models, Auth::kKey},
    {"GET", "/v1/models/", &Service::model, Auth::kKey},
    {"POST", "/v1/chat/completions", &Service::chat, Auth::kKey},
    {"POST", "/v1/completions", &Service::completion, Auth::kKey},
};

Service::Service(ServedModel model, engine::Engine& engine, const sys::Clock& clock,
                 ServiceOptions options)
    : model_(std::make_shared<const ServedModel>(std::move(model))),
      engine_(engine),
      clock_(clock),
      options_(std::move(options)),
      worker_(options_.workers, options_.max_waiting_jobs) {}

Service::~Service() = default;

void Service::handle(const std::shared_ptr<http::Exchange>& exchange) {
  const http::Request& request = exchange->request();
  const std::string_view method =
      request.method == "HEAD" ? "GET" : std::string_view(request.method);
  std::string allow;
  for (const Route& route : kRoutes) {
    const bool below = route.path.ends_with('/');
    if (below ? !request.path.starts_with(route.path) : request.path != route.path) continue;
    if (route.method == method) {
      if (route.auth == Auth::kKey && !caller(request)) {
        return answer_error(
            exchange,
            {Code::kUnauthenticated, "a valid API key is needed: Authorization: Bearer KEY", {}});
      }
      return (this->*route.endpoint)(exchange);
    }
    allow = fmt::format("{}{}, OPTIONS", route.method, route.method == "GET" ? ", HEAD" : "");
  }
  if (!allow.empty() && method == "OPTIONS") return answer_options(exchange, allow);
  if (!allow.empty()) {
    http::Response response;
    response.status = 405;
    response.headers = cors_headers();
    response.headers.push_back({"allow", allow});
    response.body = api::encode_http_error(405, fmt::format("this path allows {}", allow));
    return exchange->respond(std::move(response));
  }
  answer_error(exchange,
               {Code::kNotFound,
                fmt::format("no such path: {} (the API is under /v1)", request.path.substr(0, 128)),
                {}});
}

std::optional<std::uint32_t> Service::caller(const http::Request& request) const {
  if (options_.api_keys.empty()) return 0;
  const auto* header = request.find("authorization");
  if (header == nullptr || !starts_with_word(*header, "bearer ")) return std::nullopt;
  const std::string_view given = std::string_view(*header).substr(7);
  std::optional<std::uint32_t> known;  // All keys are compared, so that time tells nothing.
  for (std::size_t i = 0; i < options_.api_keys.size(); ++i) {
    if (equal_secrets(options_.api_keys[i], given)) known = static_cast<std::uint32_t>(i + 1);
  }
  return known;
}

Result<Asking> Service::asking(const http::Request& request) const {
  Asking asking{request.id, clock_.unix_seconds(), {}, {}, {}};
  const std::uint32_t key = caller(request).value_or(0);
  asking.tenant = policy::TenantId{key};
  if (!options_.share_prefixes) asking.space = kv::Namespace{key};
  const auto most = options_.max_request_time;
  if (most.count() > 0) asking.deadline = clock_.now() + most;
  const auto* timeout = request.find("x-request-timeout-ms");
  if (timeout == nullptr) return asking;
  std::uint32_t ms = 0;
  const auto [end, fault] = std::from_chars(timeout->data(), timeout->data() + timeout->size(), ms);
  if (fault != std::errc() || end != timeout->data() + timeout->size() || ms == 0) {
    return fail(Code::kInvalidArgument,
                "x-request-timeout-ms must be a number of milliseconds from 1 to 4294967295",
                "x-request-timeout-ms");
  }
  if (most.count() > 0 && std::chrono::milliseconds(ms) > most) {
    return fail(Code::kInvalidArgument,
                fmt::format("x-request-timeout-ms is {}, but a request may take at most {} ms here",
                            ms, most.count()),
                "x-request-timeout-ms");
  }
  asking.deadline = clock_.now() + std::chrono::milliseconds(ms);
  return asking;
}

std::vector<http::Header> Service::cors_headers() const {
  if (options_.cors_origin.empty()) return {};
  return {{"access-control-allow-origin", options_.cors_origin},
          {"access-control-expose-headers", "x-request-id, retry-after"}};
}

void Service::answer_error(const Exchange& exchange, const Error& error) const {
  if (api::shape_of(error).status == 500 && options_.on_fault)
    options_.on_fault(exchange->request().id, error);
  exchange->respond(error_response(error, cors_headers()));
}

void Service::answer_json(const Exchange& exchange, std::string body, int status) const {
  http::Response response;
  response.status = status;
  response.headers = cors_headers();
  response.body = std::move(body);
  exchange->respond(std::move(response));
}

void Service::answer_options(const Exchange& exchange, const std::string& allow) const {
  http::Response response;
  response.status = 204;
  response.headers = cors_headers();
  response.headers.push_back({"allow", allow});
  if (!options_.cors_origin.empty()) {
    response.headers.push_back({"access-control-allow-methods", allow});
    response.headers.push_back(
        {"access-control-allow-headers", "authorization, content-type, x-request-id"});
    response.headers.push_back({"access-control-max-age", "600"});
  }
  exchange->respond(std::move(response));
}

void Service::live(const Exchange& exchange) { answer_json(exchange, R"({"status":"ok"})"); }

void Service::ready(const Exchange& exchange) {
  if (draining_.load() || engine_.stats().draining) {
    return answer_error(exchange, {Code::kUnavailable, "the server is shutting down", {}});
  }
  if (engine_.step_age() > options_.stuck_after) {
    return answer_error(exchange, {Code::kUnavailable, "the model has stopped answering", {}});
  }
  answer_json(exchange, R"({"status":"ok"})");
}

void Service::metrics(const Exchange& exchange) {
  http::Response response;
  response.headers = cors_headers();
  if (options_.metrics == nullptr) {
    return answer_error(exchange, {Code::kNotFound, "this server keeps no metrics", {}});
  }
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = options_.metrics->expose(engine_.stats());
  exchange->respond(std::move(response));
}

void Service::request(const Exchange& exchange) {
  const std::string id = exchange->request().path.substr(std::string_view("/v1/requests/").size());
  auto body = log_.describe(id, policy::TenantId{caller(exchange->request()).value_or(0)}, engine_);
  if (!body) {
    return answer_error(
        exchange, {Code::kNotFound,
                   fmt::format("no request '{}' among the last ones", id.substr(0, 128)), "id"});
  }
  answer_json(exchange, *std::move(body));
}

void Service::version(const Exchange& exchange) {
  std::string body = R"({"version":)";
  api::append_json_string(body, options_.version);
  answer_json(exchange, body + "}");
}

void Service::models(const Exchange& exchange) {
  const api::ModelCard card{model_->id, model_->created, engine_.context()};
  answer_json(exchange, api::encode_models({&card, 1}));
}

void Service::model(const Exchange& exchange) {
  const std::string name = exchange->request().path.substr(std::string_view("/v1/models/").size());
  if (!model_->is_called(name)) {
    return answer_error(exchange,
                        {Code::kNotFound,
                         fmt::format("the model '{}' does not exist; this server has '{}'",
                                     name.substr(0, 128), model_->id),
                         "model"});
  }
  answer_json(exchange, api::encode_model({name, model_->created, engine_.context()}));
}

void Service::chat(const Exchange& exchange) { generate(exchange, plan_chat); }
void Service::completion(const Exchange& exchange) { generate(exchange, plan_completion); }

void Service::generate(const Exchange& exchange, Planner planner) {
  if (draining_.load()) {
    return answer_error(exchange, {Code::kUnavailable, "the server is shutting down", {}});
  }
  const bool queued = worker_.run([this, exchange, planner] {
    if (exchange->gone()) return;
    const std::string body = std::exchange(exchange->request().body, {});
    const auto who = asking(exchange->request());
    auto plan =
        who ? planner(body, *model_, *who) : Result<AnswerPlan>(std::unexpected(who.error()));
    Status done;
    if (!plan) {
      done = std::unexpected(std::move(plan).error());
    } else if (!exchange->gone()) {
      done = Answer::submit(exchange, model_, engine_, *std::move(plan), cors_headers(), log_);
    }
    if (!done) {
      exchange->post(
          [this, exchange, error = std::move(done).error()] { answer_error(exchange, error); });
    }
  });
  if (!queued)
    answer_error(exchange, {Code::kExhausted, "too many requests are waiting; try again soon", {}});
}

}  // namespace weir::server
