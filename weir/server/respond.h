#pragma once

/// Responses that every endpoint gives alike.
/// Thread safety: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/http/message.h"
#include "weir/http/server.h"

namespace weir::server {

/// By the one table of api/error.h, with Retry-After and WWW-Authenticate where they belong.
[[nodiscard]] http::Response error_response(const Error& error,
                                            std::vector<http::Header> headers = {});

/// http::ServerOptions::error_body, in OpenAI's shape.
[[nodiscard]] std::string http_error_body(int status, std::string_view message);

/// One line without an end, nothing in it unprintable: a path is the client's text.
[[nodiscard]] std::string access_line(const http::AccessRecord& record, std::int64_t unix_seconds);

/// Equal, in time that depends on the length of `given` alone.
[[nodiscard]] bool equal_secrets(std::string_view secret, std::string_view given);

}  // namespace weir::server
