#include "weir/http/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace weir::http {
namespace {

std::unexpected<Error> bad(std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("not a usable URL: {}", why));
}

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

std::uint16_t own_port(std::string_view scheme) { return scheme == "https" ? 443 : 80; }

bool is_host_name(std::string_view host) {
  return !host.empty() && host.size() <= 253 && std::ranges::all_of(host, [](char c) {
    return is_alnum(c) || c == '-' || c == '.' || c == '_';
  });
}

/// Its look only; the resolver decides whether it is an address. No zone ids.
bool looks_like_ipv6(std::string_view host) {
  return host.size() >= 2 && host.size() <= 45 && host.contains(':') &&
         host.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

Status read_port(std::string_view text, Url& url) {
  if (text.empty()) return {};  // "host:" is legal and means the scheme's own.
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), url.port);
  if (error != std::errc{} || end != text.data() + text.size() || url.port == 0) {
    return bad("the port is not a number from 1 to 65535");
  }
  return {};
}

Status read_authority(std::string_view text, Url& url) {
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    url.user = text.substr(0, at);
    text.remove_prefix(at + 1);
  }
  std::string_view host;
  std::string_view port;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return bad("'[' without ']'");
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!looks_like_ipv6(host)) return bad("the address in brackets is not IPv6");
    if (!port.empty() && !port.starts_with(':')) return bad("text after ']'");
  } else {
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    port = colon == std::string_view::npos ? "" : text.substr(colon);
    if (!is_host_name(host))
      return bad("the host name is empty or holds a character no host name has");
  }
  url.host = lower(host);
  return read_port(port.empty() ? port : port.substr(1), url);
}

/// RFC 3986, section 5.2.4. Works on the path alone.
std::string remove_dot_segments(std::string_view path) {
  std::vector<std::string_view> kept;
  bool trailing = false;
  while (!path.empty()) {
    path.remove_prefix(1);  // every segment is led by its '/'
    const auto end = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, end);
    path.remove_prefix(end);
    trailing = segment.empty() || segment == "." || segment == "..";
    if (segment == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (segment != "." && !(segment.empty() && path.empty())) {
      kept.push_back(segment);
    }
  }
  std::string out;
  for (const auto segment : kept) out.append("/").append(segment);
  if (trailing || out.empty()) out += '/';
  return out;
}

std::string normalised_target(std::string_view target) {
  const auto query = std::min(target.find('?'), target.size());
  return remove_dot_segments(target.substr(0, query)) + std::string(target.substr(query));
}

Status check_bytes(std::string_view text) {
  if (text.size() > kMaxUrlBytes) return bad(fmt::format("longer than {} bytes", kMaxUrlBytes));
  if (std::ranges::any_of(text, [](char c) { return c <= 0x20 || c >= 0x7F; })) {
    return bad("it holds a space, a control or a non-ASCII byte");
  }
  return {};
}

bool has_scheme(std::string_view text) {
  const auto colon = text.find(':');
  return colon != std::string_view::npos && colon > 0 &&
         std::ranges::all_of(text.substr(0, colon), [](char c) {
           return is_alnum(c) || c == '+' || c == '-' || c == '.';
         });
}

}  // namespace

std::string Url::authority() const {
  const std::string name = host.contains(':') ? fmt::format("[{}]", host) : host;
  return port == own_port(scheme) ? name : fmt::format("{}:{}", name, port);
}

std::string Url::text() const { return fmt::format("{}://{}{}", scheme, authority(), target); }

bool Url::same_origin(const Url& other) const {
  return scheme == other.scheme && host == other.host && port == other.port;
}

Result<Url> parse_url(std::string_view text) {
  WEIR_TRY_STATUS(check_bytes(text));
  const auto separator = text.find("://");
  if (separator == std::string_view::npos) return bad("it does not begin with http:// or https://");
  Url url;
  url.scheme = lower(text.substr(0, separator));
  if (url.scheme != "http" && url.scheme != "https") {
    return bad("the scheme is neither http nor https");
  }
  url.port = own_port(url.scheme);
  std::string_view rest = text.substr(separator + 3);
  rest = rest.substr(0, rest.find('#'));
  const auto end = std::min(rest.find_first_of("/?"), rest.size());
  WEIR_TRY_STATUS(read_authority(rest.substr(0, end), url));
  rest.remove_prefix(end);
  url.target =
      normalised_target(rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest));
  return url;
}

Result<Url> resolve_url(const Url& base, std::string_view reference) {
  WEIR_TRY_STATUS(check_bytes(reference));
  const std::string_view clean = reference.substr(0, reference.find('#'));
  if (has_scheme(clean)) return parse_url(clean);
  if (clean.starts_with("//")) return parse_url(fmt::format("{}:{}", base.scheme, clean));
  Url url = base;
  url.user.clear();
  if (clean.empty()) return url;
  const std::string_view base_path = std::string_view(base.target).substr(0, base.target.find('?'));
  if (clean.starts_with('/')) {
    url.target = normalised_target(clean);
  } else if (clean.starts_with('?')) {
    url.target = std::string(base_path) + std::string(clean);
  } else {
    const auto folder = base_path.substr(0, base_path.rfind('/') + 1);
    url.target = normalised_target(std::string(folder) + std::string(clean));
  }
  if (url.target.size() > kMaxUrlBytes) return bad("too long once resolved");
  return url;
}

std::string escape(std::string_view text, bool keep_slashes) {
  std::string out;
  for (const char c : text) {
    if (is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~' || (c == '/' && keep_slashes)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace weir::http
