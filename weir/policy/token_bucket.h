#pragma once

/// A token bucket: `rate` units a second on average, `burst` at once. One for each scarce thing of
/// a tenant (requests, input tokens, output tokens, bytes). A cost above the burst passes when the
/// bucket is full and leaves a debt, so that a large request is delayed and not locked out for
/// ever. Thread safety: none; one owner. Time comes in as a parameter and may not go back (a
/// smaller `now` is taken as the last one).

#include "weir/spec/time.h"

namespace weir::policy {

class TokenBucket {
 public:
  /// Starts full. REQUIRES: rate > 0, burst > 0, both finite.
  TokenBucket(double rate, double burst, Instant now = {});

  /// Takes `cost` if it may pass now.
  [[nodiscard]] bool take(double cost, Instant now);

  /// How long until `cost` would pass: what Retry-After says. 0 when it would now.
  [[nodiscard]] Duration wait(double cost, Instant now) const;

  /// Gives back what was taken and not used (an answer shorter than its max_tokens).
  void refund(double cost, Instant now);

  /// What lies in the bucket; negative while a debt is paid.
  [[nodiscard]] double level(Instant now) const;

  /// Another rate from now on, for a soft quota.
  void set_rate(double rate, Instant now);

 private:
  void settle(Instant now);
  double rate_, burst_, level_;
  Instant last_;
};

/// The rate a tenant may use while the platform is loaded to `load` (0 to 1): twice the quota below
/// half, exactly the quota from 90 %, and in between on a straight line, so that no step in load
/// makes a step in what passes.
[[nodiscard]] double soft_quota(double quota, double load);

}  // namespace weir::policy
