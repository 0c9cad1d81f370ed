#include "weir/http/internal/client_exchange.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace weir::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace ssl = boost::asio::ssl;
namespace bhttp = boost::beast::http;
using ErrorCode = boost::system::error_code;
using SteadyClock = std::chrono::steady_clock;
using Tcp = asio::ip::tcp;

/// How often a waiting exchange asks whether it was cancelled.
constexpr auto kTick = std::chrono::milliseconds(100);
/// Of the answer to an error this much is kept; the rest is not read.
constexpr std::size_t kMaxErrorBody = 64 * 1024;
/// A server that sends more interim (1xx) answers than this is not one.
constexpr int kMaxInterim = 16;

std::string base64(const std::string& text) {
  std::string out((text.size() + 2) / 3 * 4 + 1, '\0');
  const int n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(text.data()),
                                static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(n));
  return out;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
        hex_value(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

class Exchange {
 public:
  Exchange(const Url& url, const ClientRequest& request, const ClientOptions& options,
           const ClientHandlers& handlers, const IsFinal& is_final)
      : url_(url),
        request_(request),
        options_(options),
        handlers_(handlers),
        is_final_(is_final),
        tcp_(io_) {
    const auto now = SteadyClock::now();
    end_ = options.total.count() > 0 ? now + options.total : SteadyClock::time_point::max();
    connect_end_ = std::min(end_, now + options.connect);
  }

  Result<ClientResponse> run(ssl::context* tls) {
    WEIR_TRY(const auto proxy, proxy_for(options_.proxy, url_));
    WEIR_TRY_STATUS(connect(proxy ? *proxy : url_));
    if (!url_.tls()) return talk(tcp_, proxy);
    if (proxy) WEIR_TRY_STATUS(open_tunnel(*proxy));
    ssl::stream<beast::tcp_stream&> stream(tcp_, *tls);
    WEIR_TRY_STATUS(handshake(stream));
    return talk(stream, std::nullopt);
  }

 private:
  /// Starts one asynchronous operation and runs it to its end on this thread, watching for
  /// cancellation. `start` is given a handler that takes an error code and anything after it.
  template <class Start>
  ErrorCode wait(Start&& start) {
    ErrorCode result;
    bool done = false;
    start([&](const ErrorCode& error, auto&&...) {
      result = error;
      done = true;
    });
    while (!done) {
      io_.restart();
      io_.run_one_for(kTick);
      if (!done && !cancelled_ && handlers_.cancelled && handlers_.cancelled()) {
        cancelled_ = true;
        resolver_.cancel();
        tcp_.cancel();
      }
    }
    // An operation may still succeed as it is cancelled; the exchange ends all the same.
    return cancelled_ ? ErrorCode(asio::error::operation_aborted) : result;
  }

  void allow(SteadyClock::time_point until) { tcp_.expires_at(until); }
  void allow_idle() { allow(std::min(end_, SteadyClock::now() + options_.idle)); }

  std::unexpected<Error> broken(const ErrorCode& error, std::string_view doing) const {
    const std::string where = url_.authority();
    if (cancelled_) return fail(Code::kCancelled, fmt::format("stopped while {} {}", doing, where));
    if (error == beast::error::timeout) {
      return fail(Code::kDeadline, fmt::format("{} did not answer in time ({})", where, doing));
    }
    if (error == bhttp::error::header_limit || error == bhttp::error::buffer_overflow) {
      return fail(Code::kTooLarge,
                  fmt::format("{} sent a header over {} bytes", where, options_.max_header_bytes));
    }
    const bool cut = error == bhttp::error::end_of_stream ||
                     error == bhttp::error::partial_message || error == asio::error::eof ||
                     error == ssl::error::stream_truncated ||
                     error == asio::error::connection_reset || error == asio::error::broken_pipe;
    if (cut)
      return fail(Code::kUnavailable,
                  fmt::format("{} closed the connection too early ({})", where, doing));
    static const auto& http_errors = bhttp::make_error_code(bhttp::error::bad_version).category();
    if (error.category() == http_errors) {
      return fail(Code::kCorrupt,
                  fmt::format("{} did not answer in HTTP: {}", where, error.message()));
    }
    return fail(Code::kUnavailable, fmt::format("{} {}: {}", doing, where, error.message()));
  }

  Status connect(const Url& to) {
    Tcp::resolver::results_type found;
    ErrorCode error = wait([&](auto handler) {
      resolver_.async_resolve(
          to.host, std::to_string(to.port),
          [&found, handler](const ErrorCode& e, Tcp::resolver::results_type results) mutable {
            found = std::move(results);
            handler(e);
          });
    });
    if (!error && SteadyClock::now() >= connect_end_) error = beast::error::timeout;
    if (error) return broken(error, "looking up");
    error = asio::error::host_not_found;
    auto left = static_cast<int>(std::distance(found.begin(), found.end()));
    for (const auto& entry : found) {
      // Each address gets its share, so that one that swallows packets leaves time for the next.
      const auto now = SteadyClock::now();
      allow(now + (connect_end_ - std::min(now, connect_end_)) / left--);
      error = wait([&](auto handler) { tcp_.async_connect(entry.endpoint(), handler); });
      if (!error || cancelled_) break;
    }
    if (error) return broken(error, "connecting to");
    ErrorCode ignored;
    tcp_.socket().set_option(Tcp::no_delay(true), ignored);
    return {};
  }

  void authorize(const Url& proxy, bhttp::fields& fields) const {
    if (proxy.user.empty()) return;
    fields.set(bhttp::field::proxy_authorization, "Basic " + base64(unescape(proxy.user)));
  }

  Status open_tunnel(const Url& proxy) {
    const std::string name = url_.host.contains(':') ? fmt::format("[{}]", url_.host) : url_.host;
    const std::string to = fmt::format("{}:{}", name, url_.port);
    bhttp::request<bhttp::empty_body> ask(bhttp::verb::connect, to, 11);
    ask.set(bhttp::field::host, to);
    authorize(proxy, ask);
    allow(connect_end_);
    if (const auto error = wait([&](auto handler) { bhttp::async_write(tcp_, ask, handler); })) {
      return broken(error, "asking the proxy for");
    }
    beast::flat_buffer buffer(options_.max_header_bytes);
    bhttp::response_parser<bhttp::empty_body> parser;
    parser.header_limit(options_.max_header_bytes);
    parser.skip(true);
    if (const auto error =
            wait([&](auto handler) { bhttp::async_read_header(tcp_, buffer, parser, handler); })) {
      return broken(error, "asking the proxy for");
    }
    const unsigned status = parser.get().result_int();
    if (status == 407) {
      return fail(
          Code::kUnauthenticated,
          fmt::format(
              "the proxy {} wants other credentials: set HTTPS_PROXY=http://NAME:PASSWORD@{}",
              proxy.authority(), proxy.authority()));
    }
    if (status / 100 != 2) {
      return fail(Code::kUnavailable, fmt::format("the proxy {} refused the way to {}: status {}",
                                                  proxy.authority(), to, status));
    }
    if (buffer.size() != 0) {
      return fail(Code::kCorrupt,
                  fmt::format("the proxy {} spoke before {}", proxy.authority(), to));
    }
    return {};
  }

  Status handshake(ssl::stream<beast::tcp_stream&>& stream) {
    ErrorCode error;
    // RFC 6066: no SNI for addresses.
    asio::ip::make_address(url_.host, error);
    if (error && SSL_set_tlsext_host_name(stream.native_handle(), url_.host.c_str()) != 1) {
      return fail(Code::kInternal, "cannot set the server name for TLS");
    }
    stream.set_verify_callback(ssl::host_name_verification(url_.host), error);
    allow(connect_end_);
    error = wait([&](auto handler) { stream.async_handshake(ssl::stream_base::client, handler); });
    if (!error) return {};
    const long verdict = SSL_get_verify_result(stream.native_handle());
    if (error.category() == asio::error::get_ssl_category() && verdict != X509_V_OK) {
      return fail(
          Code::kPermission,
          fmt::format("the certificate of {} is not accepted: {}; to trust your own authority, set "
                      "SSL_CERT_FILE to its PEM file",
                      url_.authority(), X509_verify_cert_error_string(verdict)));
    }
    // Our own host-name check fails with no verdict of the chain's.
    if (error.category() == asio::error::get_ssl_category() &&
        ERR_GET_REASON(static_cast<unsigned long>(error.value())) ==
            SSL_R_CERTIFICATE_VERIFY_FAILED) {
      return fail(Code::kPermission,
                  fmt::format("the certificate of {} is for another host", url_.authority()));
    }
    return broken(error, "speaking TLS to");
  }

  bhttp::request<bhttp::string_body> wire_request(const std::optional<Url>& proxy) const {
    const std::string target = proxy ? url_.text() : url_.target;
    bhttp::request<bhttp::string_body> wire(bhttp::string_to_verb(request_.method), target, 11);
    for (const auto& [name, value] : request_.headers.all()) wire.insert(name, value);
    wire.set(bhttp::field::host, url_.authority());
    wire.set(bhttp::field::user_agent, options_.user_agent);
    wire.set(bhttp::field::accept_encoding, "identity");
    wire.set(bhttp::field::connection, "close");
    if (proxy) authorize(*proxy, wire);
    if (!request_.body.empty() || request_.method == "POST" || request_.method == "PUT") {
      wire.body() = request_.body;
      wire.prepare_payload();
    }
    return wire;
  }

  /// `proxy` when it is spoken to in place of the origin (plain http).
  template <class Stream>
  Result<ClientResponse> talk(Stream& stream, const std::optional<Url>& proxy) {
    auto wire = wire_request(proxy);
    allow_idle();
    if (const auto error = wait([&](auto handler) { bhttp::async_write(stream, wire, handler); })) {
      return broken(error, "sending to");
    }
    using Parser = bhttp::response_parser<bhttp::buffer_body>;
    beast::flat_buffer buffer(options_.max_header_bytes + 64 * 1024);
    std::optional<Parser> parser;
    int interim = 0;
    do {
      if (interim++ == kMaxInterim)
        return fail(Code::kCorrupt, url_.authority() + " only sends interim answers");
      parser.emplace();
      parser->header_limit(options_.max_header_bytes);
      parser->body_limit(boost::none);  // bounded below, by what is kept
      if (request_.method == "HEAD") parser->skip(true);
      allow_idle();
      if (const auto error = wait(
              [&](auto handler) { bhttp::async_read_header(stream, buffer, *parser, handler); })) {
        return broken(error, "waiting for");
      }
    } while (parser->get().result_int() / 100 == 1);

    ClientResponse response;
    response.status = static_cast<int>(parser->get().result_int());
    response.url = url_.text();
    for (const auto& field : parser->get()) {
      response.headers.add(std::string(field.name_string()), std::string(field.value()));
    }
    if (!is_final_(response)) return response;
    if (handlers_.head) WEIR_TRY_STATUS(handlers_.head(response));
    WEIR_TRY_STATUS(read_body(stream, buffer, *parser, response));
    return response;
  }

  template <class Stream, class Parser>
  Status read_body(Stream& stream, beast::flat_buffer& buffer, Parser& parser,
                   ClientResponse& response) {
    std::array<char, 64 * 1024> piece;
    while (!parser.is_done()) {
      parser.get().body().data = piece.data();
      parser.get().body().size = piece.size();
      allow_idle();
      ErrorCode error =
          wait([&](auto handler) { bhttp::async_read_some(stream, buffer, parser, handler); });
      if (error == bhttp::error::need_buffer) error = {};
      const std::string_view got(piece.data(), piece.size() - parser.get().body().size);
      // What came before a cut is the caller's all the same: a download resumes after it.
      if (!got.empty()) WEIR_TRY_STATUS(take(got, response));
      if (error) return broken(error, "reading from");
      if (enough_) return {};
    }
    return {};
  }

  Status take(std::string_view got, ClientResponse& response) {
    if (handlers_.body && response.status / 100 == 2) return handlers_.body(got);
    if (response.status >= 400) {
      response.body.append(got.substr(0, kMaxErrorBody - response.body.size()));
      enough_ = response.body.size() == kMaxErrorBody;
      return {};
    }
    if (got.size() > options_.max_body_bytes - response.body.size()) {
      return fail(Code::kTooLarge, fmt::format("{} answered with more than {} bytes",
                                               url_.authority(), options_.max_body_bytes));
    }
    response.body.append(got);
    return {};
  }

  const Url& url_;
  const ClientRequest& request_;
  const ClientOptions& options_;
  const ClientHandlers& handlers_;
  const IsFinal& is_final_;
  SteadyClock::time_point end_;
  SteadyClock::time_point connect_end_;
  bool cancelled_ = false;
  bool enough_ = false;
  asio::io_context io_{1};
  Tcp::resolver resolver_{io_};
  beast::tcp_stream tcp_;
};

}  // namespace

Result<ClientResponse> exchange(const Url& url, const ClientRequest& request,
                                const ClientOptions& options, const ClientHandlers& handlers,
                                const IsFinal& is_final, ssl::context* tls) {
  return Exchange(url, request, options, handlers, is_final).run(tls);
}

}  // namespace weir::http
