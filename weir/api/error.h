#pragma once

/// Errors on the wire: the only table from Code to HTTP status, OpenAI `type` and `code`, and the
/// one body every endpoint answers with: {"error":{"message","type","param","code"}}, all four
/// always there. Thread safety: pure functions.

#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::api {

struct ErrorShape {
  int status;
  std::string_view type;
  std::string_view code;
  /// Seconds for the Retry-After header where trying again makes sense.
  std::optional<int> retry_after;
};

[[nodiscard]] ErrorShape shape_of(const Error& error);

/// The body. Messages of kInternal, kIo and kCorrupt are replaced by a general one: no internals
/// reach a client (the log has them, under the request's id).
[[nodiscard]] std::string encode_error(const Error& error);

/// For faults that exist only in HTTP (405, 408, 431 and so on).
[[nodiscard]] std::string encode_http_error(int status, std::string_view message);

}  // namespace weir::api
