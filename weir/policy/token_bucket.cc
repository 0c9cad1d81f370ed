#include "weir/policy/token_bucket.h"

#include <algorithm>
#include <cmath>

#include "weir/base/check.h"

namespace weir::policy {

TokenBucket::TokenBucket(double rate, double burst, Instant now)
    : rate_(rate), burst_(burst), level_(burst), last_(now) {
  WEIR_CHECK(std::isfinite(rate) && rate > 0 && std::isfinite(burst) && burst > 0,
             "a bucket fills and holds something");
}

double TokenBucket::level(Instant now) const {
  return std::min(burst_, level_ + rate_ * seconds(std::max(now, last_) - last_));
}

void TokenBucket::settle(Instant now) {
  level_ = level(now);
  last_ = std::max(now, last_);
}

bool TokenBucket::take(double cost, Instant now) {
  settle(now);
  if (level_ < std::min(cost, burst_)) return false;
  level_ -= cost;
  return true;
}

Duration TokenBucket::wait(double cost, Instant now) const {
  const double missing = std::min(cost, burst_) - level(now);
  if (missing <= 0) return {};
  constexpr double kYear = 31536000;  // Longer than anyone waits, and far from overflow.
  // Rounded up, so that who waits as told is not refused again for a nanosecond.
  return Duration(static_cast<Duration::rep>(std::ceil(std::min(missing / rate_, kYear) * 1e9)));
}

void TokenBucket::refund(double cost, Instant now) {
  settle(now);
  level_ = std::min(burst_, level_ + std::max(0.0, cost));
}

void TokenBucket::set_rate(double rate, Instant now) {
  WEIR_CHECK(std::isfinite(rate) && rate > 0, "a bucket fills");
  settle(now);
  rate_ = rate;
}

double soft_quota(double quota, double load) {
  constexpr double kIdle = 0.5, kFull = 0.9, kBurst = 2;
  if (!(load > kIdle)) return quota * kBurst;
  if (load >= kFull) return quota;
  return quota * (kBurst - (kBurst - 1) * (load - kIdle) / (kFull - kIdle));
}

}  // namespace weir::policy
