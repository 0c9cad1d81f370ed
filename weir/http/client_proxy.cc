#include "weir/http/client_proxy.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include "weir/sys/files.h"

namespace weir::http {
namespace {

namespace ip = boost::asio::ip;
using ErrorCode = boost::system::error_code;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<ip::address> address_of(const std::string& host) {
  ErrorCode error;
  auto address = ip::make_address(host, error);
  if (error) return std::nullopt;
  return address;
}

bool in_network(const ip::address& address, const std::string& network) {
  ErrorCode error;
  if (address.is_v4()) {
    const auto net = ip::make_network_v4(network, error);
    return !error && ip::network_v4(address.to_v4(), 32).is_subnet_of(net.canonical());
  }
  const auto net = ip::make_network_v6(network, error);
  return !error && ip::network_v6(address.to_v6(), 128).is_subnet_of(net.canonical());
}

bool covers(std::string_view entry, const Url& url) {
  if (entry == "*") return true;
  if (const auto address = address_of(url.host)) {
    if (entry.contains('/')) return in_network(*address, std::string(entry));
    const auto named = address_of(std::string(entry));
    return named && *named == *address;
  }
  if (const auto colon = entry.find(':'); colon != std::string_view::npos) {
    if (entry.substr(colon + 1) != std::to_string(url.port)) return false;
    entry = entry.substr(0, colon);
  }
  if (entry.starts_with("*.")) entry.remove_prefix(1);
  if (entry.starts_with('.')) entry.remove_prefix(1);
  if (entry.empty()) return false;
  return url.host == entry ||
         (url.host.ends_with(entry) && url.host[url.host.size() - entry.size() - 1] == '.');
}

bool is_local(const Url& url) {
  if (url.host == "localhost" || url.host.ends_with(".localhost")) return true;
  const auto address = address_of(url.host);
  return address && address->is_loopback();
}

bool exempt(const std::string& no_proxy, const Url& url) {
  std::string_view rest = no_proxy;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(','), rest.size());
    if (covers(lower(trimmed(rest.substr(0, end))), url)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::string either(const char* lower_name, const char* upper_name) {
  if (auto value = sys::environment(lower_name)) return *value;
  return sys::environment(upper_name).value_or("");
}

}  // namespace

ProxySettings proxy_from_environment() {
  ProxySettings settings{either("http_proxy", "HTTP_PROXY"), either("https_proxy", "HTTPS_PROXY"),
                         either("no_proxy", "NO_PROXY")};
  const std::string all = either("all_proxy", "ALL_PROXY");
  if (settings.http.empty()) settings.http = all;
  if (settings.https.empty()) settings.https = all;
  return settings;
}

Result<std::optional<Url>> proxy_for(const ProxySettings& settings, const Url& url) {
  const std::string& text = url.tls() ? settings.https : settings.http;
  if (text.empty() || is_local(url) || exempt(settings.no_proxy, url)) return std::nullopt;
  const char* variable = url.tls() ? "HTTPS_PROXY" : "HTTP_PROXY";
  // "proxy:3128" without a scheme is common and means http.
  auto proxy = parse_url(text.contains("://") ? text : "http://" + text);
  if (!proxy)
    return fail(Code::kInvalidArgument, variable + (": " + proxy.error().message), variable);
  if (proxy->tls()) {
    return fail(
        Code::kUnsupported,
        std::string(variable) + ": a proxy spoken to over https is not supported; use http://",
        variable);
  }
  return *std::move(proxy);
}

}  // namespace weir::http
