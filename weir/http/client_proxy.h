#pragma once

/// Which proxy a request goes through: the variables every command-line client honours.
/// Thread safety: values and pure functions; proxy_from_environment() reads the environment.

#include <optional>
#include <string>

#include "weir/base/result.h"
#include "weir/http/url.h"

namespace weir::http {

struct ProxySettings {
  std::string http;   ///< URL of the proxy for http, "http://[name:password@]host:port"; "" none.
  std::string https;  ///< The same for https (through CONNECT).
  std::string
      no_proxy;  ///< "*", or names (with their sub-domains), name:port, addresses, networks.
};

/// http_proxy, https_proxy, no_proxy, and all_proxy for what the first two leave open; in lower
/// case or else in upper case.
[[nodiscard]] ProxySettings proxy_from_environment();

/// Nothing means: connect directly. Loopback and "localhost" are always direct.
/// kInvalidArgument for a setting that is no http:// URL, without repeating its credentials.
[[nodiscard]] Result<std::optional<Url>> proxy_for(const ProxySettings& settings, const Url& url);

}  // namespace weir::http
