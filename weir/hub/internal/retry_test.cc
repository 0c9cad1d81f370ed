#include "weir/hub/internal/retry.h"

#include <gtest/gtest.h>

namespace weir::hub {
namespace {

Failure passing(std::optional<Milliseconds> after = {}) {
  return {{Code::kUnavailable, "", {}}, true, after};
}

TEST(Retry, WaitsDoubleUpToABoundAndEnd) {
  const RetryPolicy policy{6, Milliseconds(500), Milliseconds(3000), Milliseconds(60'000)};
  std::vector<std::int64_t> waits;
  for (int failed = 1; const auto wait = next_wait(policy, failed, passing()); ++failed)
    waits.push_back(wait->count());
  EXPECT_EQ(waits, (std::vector<std::int64_t>{500, 1000, 2000, 3000, 3000}));
}

TEST(Retry, WhatTheServerAsksForIsHonouredUnlessTooLong) {
  EXPECT_EQ(next_wait({}, 1, passing(Milliseconds(7000))), Milliseconds(7000));
  EXPECT_EQ(next_wait({}, 1, passing(Milliseconds(0))), RetryPolicy{}.first);
  EXPECT_FALSE(next_wait({}, 1, passing(Milliseconds(61'000))).has_value());
}

TEST(Retry, OnlyWhatMayPassIsTriedAgain) {
  EXPECT_FALSE(next_wait({}, 1, failure_of({Code::kPermission, "", {}})).has_value());
  EXPECT_TRUE(next_wait({}, 1, failure_of({Code::kDeadline, "", {}})).has_value());
  for (const int status : {429, 500, 502, 503, 504}) EXPECT_TRUE(may_pass(status));
  for (const int status : {400, 401, 403, 404, 416, 501}) EXPECT_FALSE(may_pass(status));
}

TEST(Retry, RetryAfterIsSecondsOrADate) {
  constexpr std::int64_t kNow = 1'445'412'000;  // Wed, 21 Oct 2015 07:20:00 GMT
  EXPECT_EQ(parse_retry_after("120", kNow), Milliseconds(120'000));
  EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT", kNow), Milliseconds(480'000));
  EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2015 07:00:00 GMT", kNow), Milliseconds(0));
  EXPECT_EQ(parse_retry_after("9223372036854775807", kNow), Milliseconds(365LL * 86'400'000));
  for (const char* bad :
       {"", "-1", "soon", "12s", "99999999999999999999", "Wed, 21 Oct 2015 07:28:00 GMT!"}) {
    EXPECT_FALSE(parse_retry_after(bad, kNow).has_value()) << bad;
  }
}

}  // namespace
}  // namespace weir::hub
