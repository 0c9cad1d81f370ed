#pragma once

/// One request and its answer on a connection of their own: the mechanics under Client, which holds
/// the policy. Private to http/. Thread safety: one call, one thread; `tls` may be shared.

#include "weir/base/result.h"
#include "weir/http/client.h"
#include "weir/http/url.h"

namespace boost::asio::ssl {
class context;
}

namespace weir::http {

/// Whether the answer with this head is the final one; a redirect that will be followed is not, and
/// its body is not read.
using IsFinal = std::function<bool(const ClientResponse&)>;

/// REQUIRES: `tls` is not null when url.tls().
[[nodiscard]] Result<ClientResponse> exchange(const Url& url, const ClientRequest& request,
                                              const ClientOptions& options,
                                              const ClientHandlers& handlers,
                                              const IsFinal& is_final,
                                              boost::asio::ssl::context* tls);

}  // namespace weir::http
