#pragma once

/// HTTP/1.x requests out of a byte stream, strictly: what two parsers could read differently (two
/// lengths, a length with chunks, codings other than chunked, bare line feeds) is refused, since
/// behind a proxy it would be a way to smuggle requests. Fed the same bytes in any cuts, it gives
/// the same. Thread safety: none; one object per request.

#include <cstddef>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "weir/http/message.h"

namespace weir::http {

struct ParserLimits {
  std::size_t header_bytes = 32 * 1024;  ///< Request line and headers; also trailers. Over it: 431.
  std::size_t body_bytes =
      8 * 1024 * 1024;  ///< Over it: 413, before it is read where a length is given.
};

class RequestParser {
 public:
  explicit RequestParser(ParserLimits limits);
  ~RequestParser();
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;

  /// A fault to answer with, after which the connection must close.
  struct Fault {
    int status;
    std::string message;
  };

  /// Takes what it can of `bytes` and says how much; the caller keeps the rest and feeds it again
  /// with more behind it. Nothing is taken after done().
  [[nodiscard]] std::expected<std::size_t, Fault> feed(std::string_view bytes);

  [[nodiscard]] bool started() const;   ///< A byte of a request has come.
  [[nodiscard]] bool has_head() const;  ///< The headers are whole.
  [[nodiscard]] bool done() const;
  /// has_head(), and the client waits for "100 Continue" before it sends the body.
  [[nodiscard]] bool expects_continue() const;

  /// REQUIRES: done(). Call once. `id` and `peer` are the caller's to fill in.
  [[nodiscard]] Request take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Percent-decodes a path; false for broken escapes.
[[nodiscard]] bool decode_path(std::string_view raw, std::string& out);

}  // namespace weir::http
