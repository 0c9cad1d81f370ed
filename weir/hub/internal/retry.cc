#include "weir/hub/internal/retry.h"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace weir::hub {
namespace {

/// A server that asks for more means never; and the product with 1000 cannot overflow.
constexpr std::int64_t kLongestSeconds = 365 * 86'400;

}  // namespace

bool may_pass(int status) {
  return status == 408 || status == 425 || status == 429 || status == 500 || status == 502 ||
         status == 503 || status == 504;
}

Failure failure_of(Error error) {
  const bool passing = error.code == Code::kUnavailable || error.code == Code::kDeadline;
  return {std::move(error), passing, std::nullopt};
}

std::optional<Milliseconds> parse_retry_after(std::string_view value, std::int64_t now) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error == std::errc{} && end == value.data() + value.size()) {
    if (seconds < 0) return std::nullopt;
    return Milliseconds(1000 * std::min(seconds, kLongestSeconds));
  }
  if (value.size() > 64) return std::nullopt;
  tm date{};
  const std::string text(value);
  const char* rest = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  const std::int64_t until = ::timegm(&date);
  return Milliseconds(1000 * std::clamp<std::int64_t>(until - now, 0, kLongestSeconds));
}

std::optional<Milliseconds> next_wait(const RetryPolicy& policy, int failed,
                                      const Failure& failure) {
  if (!failure.may_pass || failed >= policy.tries) return std::nullopt;
  const auto own = std::min(policy.longest, policy.first * (1 << std::min(failed - 1, 20)));
  if (!failure.retry_after) return own;
  if (*failure.retry_after > policy.longest_asked) return std::nullopt;
  return std::max(own, *failure.retry_after);
}

}  // namespace weir::hub
