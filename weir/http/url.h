#pragma once

/// Absolute http and https URLs (RFC 3986), as much as a client needs: parse, print, resolve the
/// Location of a redirect, escape a path. Text from the outside; every part is bounded and holds no
/// byte that could end a request line or a header (no controls, no space, nothing above 0x7E).
/// Thread safety: pure functions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::http {

/// Signed download links run to a few KB; nobody's is longer than this.
inline constexpr std::size_t kMaxUrlBytes = 16 * 1024;

struct Url {
  std::string scheme;      ///< "http" or "https".
  std::string user;        ///< "name:password" as written, or empty. Only proxies are given one.
  std::string host;        ///< Lower case; an IPv6 address without its brackets.
  std::uint16_t port = 0;  ///< Never 0: the scheme's own when the text names none.
  std::string target;      ///< Path and query, beginning with '/'. A fragment is dropped.

  [[nodiscard]] bool tls() const { return scheme == "https"; }
  /// "host", "host:8080" or "[::1]:8080": the port only when it is not the scheme's own.
  [[nodiscard]] std::string authority() const;
  /// Without the user part.
  [[nodiscard]] std::string text() const;
  /// Scheme, host and port: what credentials belong to.
  [[nodiscard]] bool same_origin(const Url& other) const;
};

/// kInvalidArgument says what is wrong with the text, and never repeats a user part.
[[nodiscard]] Result<Url> parse_url(std::string_view text);

/// `reference` (a Location header: absolute, //host/path, /path, relative path or ?query) seen from
/// `base`, dot segments removed (RFC 3986, section 5.2).
[[nodiscard]] Result<Url> resolve_url(const Url& base, std::string_view reference);

/// Percent-encodes all but unreserved characters; '/' too unless `keep_slashes`.
[[nodiscard]] std::string escape(std::string_view text, bool keep_slashes);

}  // namespace weir::http
