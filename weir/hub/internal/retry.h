#pragma once

/// When and how long to wait before asking again. Bounded in tries and in time.
/// Thread safety: pure functions and values.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weir/base/result.h"

namespace weir::hub {

using Milliseconds = std::chrono::milliseconds;

struct RetryPolicy {
  int tries = 5;                       ///< In a row without a new byte.
  Milliseconds first{500};             ///< Doubles from try to try ...
  Milliseconds longest{8'000};         ///< ... up to this.
  Milliseconds longest_asked{60'000};  ///< A Retry-After over this ends the pull instead.
};

/// One answer of the other side, or the lack of one.
struct Failure {
  Error error;
  bool may_pass = false;                    ///< Worth trying again.
  std::optional<Milliseconds> retry_after;  ///< As asked by the other side.
};

/// Faults of the way (kUnavailable, kDeadline) may pass; the others do not.
[[nodiscard]] Failure failure_of(Error error);
[[nodiscard]] bool may_pass(int http_status);  ///< 408, 425, 429, 500, 502, 503, 504.

/// Retry-After (RFC 9110, 10.2.3): seconds, or an HTTP date seen from `now_unix_seconds`.
[[nodiscard]] std::optional<Milliseconds> parse_retry_after(std::string_view value,
                                                            std::int64_t now_unix_seconds);

/// How long to wait after `failed` tries in a row (>= 1), or nothing: give up.
[[nodiscard]] std::optional<Milliseconds> next_wait(const RetryPolicy& policy, int failed,
                                                    const Failure& failure);

}  // namespace weir::hub
