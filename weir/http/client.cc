#include "weir/http/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/ssl/context.hpp>
#include <mutex>

#include "weir/http/internal/client_exchange.h"

namespace weir::http {
namespace {

namespace ssl = boost::asio::ssl;

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, [&](char x, char y) { return lower(x) == lower(y); });
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

Status check(const ClientRequest& request) {
  static constexpr std::array<std::string_view, 5> kMethods{"GET", "HEAD", "POST", "PUT", "DELETE"};
  if (std::ranges::find(kMethods, request.method) == kMethods.end()) {
    return fail(Code::kInvalidArgument,
                fmt::format("the method {} is not one of ours", request.method));
  }
  for (const auto& [name, value] : request.headers.all()) {
    const auto control = [](char c) { return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7F; };
    if (name.empty() ||
        std::ranges::any_of(name, [&](char c) { return control(c) || c == ' ' || c == ':'; }) ||
        std::ranges::any_of(value, control)) {
      return fail(Code::kInvalidArgument,
                  fmt::format("the header {} cannot be sent: it holds a control byte", name));
    }
  }
  return {};
}

/// The request for the next hop, or why there is none.
Result<Url> follow(const Url& from, const ClientResponse& response, ClientRequest& request) {
  const auto location = response.headers.find("location");
  if (!location) {
    return fail(Code::kCorrupt, fmt::format("{} redirects ({}) without saying where", from.text(),
                                            response.status));
  }
  WEIR_TRY(Url next, resolve_url(from, *location));
  next.user.clear();
  if (from.tls() && !next.tls()) {
    return fail(Code::kPermission,
                fmt::format("{} redirects from https to plain http ({}): refused", from.authority(),
                            next.authority()));
  }
  if (!from.same_origin(next)) {
    for (const char* credential : {"Authorization", "Cookie", "Proxy-Authorization"}) {
      request.headers.remove(credential);
    }
  }
  const bool rewrites =
      response.status == 303 || (response.status <= 302 && request.method == "POST");
  if (rewrites && request.method != "HEAD") {
    request.method = "GET";
    request.body.clear();
  }
  return next;
}

}  // namespace

void ClientHeaders::add(std::string name, std::string value) {
  all_.emplace_back(std::move(name), std::move(value));
}

void ClientHeaders::set(std::string_view name, std::string value) {
  remove(name);
  add(std::string(name), std::move(value));
}

void ClientHeaders::remove(std::string_view name) {
  std::erase_if(all_, [&](const auto& field) { return same_name(field.first, name); });
}

std::optional<std::string_view> ClientHeaders::find(std::string_view name) const {
  const auto found =
      std::ranges::find_if(all_, [&](const auto& field) { return same_name(field.first, name); });
  if (found == all_.end()) return std::nullopt;
  return found->second;
}

struct Client::State {
  explicit State(ClientOptions given) : options(std::move(given)) {}

  /// Made at the first https request: reading the authorities takes some 10 ms.
  Result<ssl::context*> tls_context() {
    const std::lock_guard lock(mutex);
    if (tls) return tls.get();
    auto made = std::make_unique<ssl::context>(ssl::context::tls_client);
    boost::system::error_code error;
    made->set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, error);
    // SSL_CERT_FILE and SSL_CERT_DIR are honoured here, by OpenSSL itself.
    if (!error) made->set_default_verify_paths(error);
    if (!error) made->set_verify_mode(ssl::verify_peer, error);
    if (error) return fail(Code::kIo, "cannot set up TLS: " + error.message());
    tls = std::move(made);
    return tls.get();
  }

  const ClientOptions options;
  std::mutex mutex;
  std::unique_ptr<ssl::context> tls;  // guarded by mutex; never replaced once made
};

Client::Client(ClientOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;

Result<ClientResponse> Client::send(const ClientRequest& original,
                                    const ClientHandlers& handlers) const {
  WEIR_TRY_STATUS(check(original));
  ClientRequest request = original;
  WEIR_TRY(Url url, parse_url(request.url));
  if (!url.user.empty()) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: credentials in a URL are not sent; use a header", url.text()));
  }
  const auto elsewhere = [&](const ClientResponse& response) {
    const auto next = resolve_url(url, response.headers.find("location").value_or(""));
    return next && !next->same_origin(url);
  };
  const auto is_final = [&](const ClientResponse& response) {
    if (!is_redirect(response.status)) return true;
    return state_->options.redirects == Redirects::kNone ||
           (state_->options.redirects == Redirects::kSameOrigin && elsewhere(response));
  };
  for (int hop = 0; hop <= state_->options.max_redirects; ++hop) {
    ssl::context* tls = nullptr;
    if (url.tls()) {
      WEIR_TRY(tls, state_->tls_context());
    }
    WEIR_TRY(ClientResponse response,
             exchange(url, request, state_->options, handlers, is_final, tls));
    if (is_final(response)) return response;
    WEIR_TRY(url, follow(url, response, request));
  }
  return fail(Code::kCorrupt, fmt::format("{} redirects more than {} times", original.url,
                                          state_->options.max_redirects));
}

}  // namespace weir::http
