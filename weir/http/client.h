#pragma once

/// A blocking HTTP/1.1 client: http and https (system authorities, host name verified, SNI),
/// proxies, redirects, bodies streamed to a sink, every wait and every size bounded.
///
/// One connection per exchange ("Connection: close"): what this client does is few and large.
/// Retries are the caller's, who knows what may be repeated. Thread safety: send() from any thread
/// at once; each call runs on its caller's thread and blocks it. Errors: kUnavailable (name,
/// connection, connection cut; try again), kDeadline (a time-out; try again), kPermission (the
/// certificate or a redirect to plain http is not accepted), kCorrupt (not HTTP), kTooLarge,
/// kInvalidArgument, kUnauthenticated (the proxy wants credentials), kCancelled; or whatever the
/// handlers returned. An HTTP status is never an error here. No message holds a header's value.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/http/client_proxy.h"

namespace weir::http {

/// Header fields in order. Names compare without case; find() gives the first of a name.
class ClientHeaders {
 public:
  void add(std::string name, std::string value);
  void set(std::string_view name, std::string value);  ///< Replaces all of that name.
  void remove(std::string_view name);
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

struct ClientRequest {
  std::string method = "GET";  ///< GET, HEAD, POST, PUT or DELETE.
  std::string url;
  ClientHeaders
      headers;  ///< Host, Connection, User-Agent, Content-Length and Accept-Encoding are ours.
  std::string body;
};

struct ClientResponse {
  int status = 0;
  ClientHeaders headers;
  std::string url;   ///< Of the answer, after redirects.
  std::string body;  ///< What no sink took: the answer to an error, or everything without a sink.
};

enum class Redirects : std::uint8_t {
  kFollow,      ///< Authorization and Cookie are dropped, for good, when the origin changes.
  kSameOrigin,  ///< Follows while the origin stays; a redirect elsewhere is the answer (no body).
  kNone,        ///< A redirect is the answer (no body).
};

struct ClientOptions {
  std::chrono::milliseconds connect{15'000};  ///< Name, connection, proxy and TLS together.
  std::chrono::milliseconds idle{30'000};     ///< The longest wait for the next byte, either way.
  std::chrono::milliseconds total{0};         ///< For a whole exchange; 0: as long as bytes flow.
  std::uint32_t max_header_bytes = 64 * 1024;
  std::uint64_t max_body_bytes =
      16 * 1024 * 1024;  ///< Of ClientResponse::body; a sink counts itself.
  int max_redirects = 8;
  Redirects redirects = Redirects::kFollow;
  ProxySettings proxy;  ///< proxy_from_environment() is what people expect.
  std::string user_agent = "weir";
};

struct ClientHandlers {
  /// Sees the head of the answer (redirects done) before its body; an error ends the exchange.
  std::function<Status(const ClientResponse&)> head;
  /// Takes the body of a 2xx answer, piece by piece. Other bodies go to ClientResponse::body.
  std::function<Status(std::string_view)> body;
  /// Polled about ten times a second; true ends the exchange with kCancelled.
  std::function<bool()> cancelled;
};

class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  [[nodiscard]] Result<ClientResponse> send(const ClientRequest& request,
                                            const ClientHandlers& handlers = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::http
