#include "weir/http/request_parser.h"

#include <algorithm>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/parser.hpp>

#include "weir/base/check.h"

namespace weir::http {
namespace {

namespace beast_http = boost::beast::http;

/// Beast's string_body reserves whatever length is claimed; this one grows with what comes.
struct GrowingBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(beast_http::header<is_request, Fields>& /*head*/, std::string& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>& /*length*/, boost::beast::error_code& fault) {
      fault = {};
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::beast::error_code& fault) {
      std::size_t total = 0;
      for (const auto& buffer : boost::beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
        total += buffer.size();
      }
      fault = {};
      return total;
    }
    void finish(boost::beast::error_code& fault) { fault = {}; }

   private:
    std::string& body_;
  };
};

using Parser = beast_http::request_parser<GrowingBody>;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::unexpected<RequestParser::Fault> refuse(int status, std::string message) {
  return std::unexpected(RequestParser::Fault{status, std::move(message)});
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

RequestParser::Fault fault_of(const boost::beast::error_code& error) {
  if (error == beast_http::error::header_limit) return {431, "the request's headers are too large"};
  if (error == beast_http::error::body_limit) return {413, "the request's body is too large"};
  if (error == beast_http::error::bad_version)
    return {505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  return {400, "malformed HTTP: " + error.message()};
}

}  // namespace

bool decode_path(std::string_view raw, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '%') {
      out += raw[i];
      continue;
    }
    if (i + 2 >= raw.size()) return false;
    const int high = hex(raw[i + 1]);
    const int low = hex(raw[i + 2]);
    if (high < 0 || low < 0) return false;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

struct RequestParser::Impl {
  explicit Impl(ParserLimits l) : limits(l) {
    parser.header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    parser.body_limit(limits.body_bytes);
    parser.eager(true);
  }

  /// What Beast lets through and we do not.
  std::expected<void, Fault> check_head() {
    const auto& head = parser.get();
    if (head.version() != 10 && head.version() != 11) {
      return refuse(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    }
    const auto hosts = head.count(beast_http::field::host);
    if (hosts > 1 || (hosts == 0 && head.version() == 11)) {
      return refuse(400, "a request needs exactly one Host header");
    }
    const auto codings = head.count(beast_http::field::transfer_encoding);
    if (codings > 0) {
      if (head.version() == 10) return refuse(400, "HTTP/1.0 has no Transfer-Encoding");
      if (!boost::beast::iequals(head[beast_http::field::transfer_encoding], "chunked") ||
          codings > 1) {
        return refuse(501, "the only Transfer-Encoding accepted is chunked");
      }
    }
    const auto expect = head[beast_http::field::expect];
    if (!expect.empty() && !boost::beast::iequals(expect, "100-continue")) {
      return refuse(417, "the only Expect accepted is 100-continue");
    }
    std::string_view target(head.target().data(), head.target().size());
    for (const std::string_view scheme : {"http://", "https://"}) {  // A proxy's absolute form.
      if (target.starts_with(scheme)) {
        const auto slash = target.find('/', scheme.size());
        target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
      }
    }
    if (!target.starts_with('/') && target != "*")
      return refuse(400, "the request target must be a path");
    target = target.substr(0, target.find('#'));
    const auto question = target.find('?');
    if (question != std::string_view::npos) query = target.substr(question + 1);
    if (!decode_path(target.substr(0, question), path)) {
      return refuse(400, "the path holds a broken percent escape");
    }
    return {};
  }

  /// Beast would wait for a proper end of the head until the deadline. `rest` begins with what was
  /// looked at before, unless bytes were taken.
  bool has_bare_line_feed(std::string_view rest) {
    for (auto at = rest.find('\n', std::min(looked_at, rest.size())); at != std::string_view::npos;
         at = rest.find('\n', at + 1)) {
      if (at == 0 || rest[at - 1] != '\r') return true;
    }
    looked_at = rest.size();
    return false;
  }

  ParserLimits limits;
  Parser parser;
  std::string path;
  std::string query;
  bool head_checked = false;
  std::size_t head_bytes = 0;  ///< Taken so far.
  std::size_t waiting = 0;     ///< Bytes offered last time and not taken.
  std::size_t looked_at = 0;   ///< Of them, for bare line feeds.
};

RequestParser::RequestParser(ParserLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;

std::expected<std::size_t, RequestParser::Fault> RequestParser::feed(std::string_view bytes) {
  Impl& p = *impl_;
  std::size_t taken = 0;
  if (!p.parser.got_some()) {
    while (bytes.substr(taken).starts_with("\r\n"))
      taken += 2;  // RFC 9112, 2.2: ignore before a request.
    if (bytes.substr(taken) == "\r") return taken;
  }
  while (taken < bytes.size() && !p.parser.is_done()) {
    boost::beast::error_code error;
    // Until the head is checked no body byte is taken, so that nothing is read under a wrong
    // framing.
    p.parser.eager(p.head_checked);
    const std::size_t n =
        p.parser.put(boost::asio::buffer(bytes.data() + taken, bytes.size() - taken), error);
    taken += n;
    if (n > 0) p.looked_at = 0;
    // Beast's limit is on what one call sees; many calls could bring headers without end.
    if (!p.head_checked) p.head_bytes += n;
    if (p.head_bytes > p.limits.header_bytes)
      return refuse(431, "the request's headers are too large");
    if (error == beast_http::error::need_more) {
      if (!p.head_checked && p.has_bare_line_feed(bytes.substr(taken))) {
        return refuse(400, "malformed HTTP: lines must end in CR LF");
      }
      // Beast bounds the head; a chunk's extension or the trailers it would wait for without end.
      if (bytes.size() - taken > p.limits.header_bytes) {
        return refuse(431, "a chunk's header or the trailers are too large");
      }
      break;
    }
    if (error) return std::unexpected(fault_of(error));
    if (p.parser.is_header_done() && !p.head_checked) {
      if (auto ok = p.check_head(); !ok) return std::unexpected(std::move(ok).error());
      p.head_checked = true;
    }
    if (n == 0) break;
  }
  p.waiting = bytes.size() - taken;
  return taken;
}

bool RequestParser::started() const { return impl_->parser.got_some() || impl_->waiting > 0; }
bool RequestParser::has_head() const { return impl_->head_checked; }
bool RequestParser::done() const { return impl_->head_checked && impl_->parser.is_done(); }

bool RequestParser::expects_continue() const {
  return impl_->head_checked && impl_->parser.get().version() == 11 &&
         !impl_->parser.get()[beast_http::field::expect].empty();
}

Request RequestParser::take() {
  WEIR_CHECK(done(), "a request is taken when it is whole");
  Request request;
  auto message = impl_->parser.release();
  request.method = std::string(message.method_string());
  request.path = std::move(impl_->path);
  request.query = std::move(impl_->query);
  request.keep_alive = message.keep_alive();
  request.http_1_0 = message.version() == 10;
  for (const auto& field : message) {
    request.headers.push_back(
        {lower(std::string_view(field.name_string().data(), field.name_string().size())),
         std::string(field.value())});
  }
  request.body = std::move(message.body());
  return request;
}

}  // namespace weir::http
