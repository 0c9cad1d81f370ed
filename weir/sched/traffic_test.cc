// A hundred thousand requests with the arrival times and lengths of real traffic.

#include <gtest/gtest.h>

#include <string>

#include "weir/sched/test_scenario.h"
#include "weir/sched/test_traffic.h"

namespace weir::sched {
namespace {

using namespace std::chrono_literals;
using policy::TenantId;

/// Block 0 opens nearly every prompt of Mooncake's trace: in each repetition it is the same.
constexpr std::uint64_t kCommon = 1;

Stream stream_of(const std::string& name, std::uint32_t tenant, std::size_t count, double rate) {
  const auto excerpt = read_excerpt(name);
  EXPECT_TRUE(excerpt.has_value()) << excerpt.error().message;
  if (!excerpt) return {};
  const Excerpt small = scaled_to_an_eighth(*excerpt);
  return {TenantId{tenant}, small.block_tokens, repeat(small, count, rate, kCommon, tenant)};
}

/// A machine of 25 000 prompt tokens a second, 4 ms for the weights.
policy::StepCost machine() { return {{4e6, 4e4, 20}, {1e9, 1e9, 1e-4}}; }

Options traffic_options(std::uint32_t pages) {
  Options o;
  o.ledger.units = pages;
  o.max_queued_requests = 10'000;
  o.max_queued_tokens = 100'000'000;
  o.max_queue_age = 1h;
  return o;
}

double rate(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

void record(const std::string& what, double value) {
  testing::Test::RecordProperty(what, std::to_string(value));
}

TEST(Traffic, AHundredThousandRequestsOfThreeTenantsAreServed) {
  const std::vector<Stream> streams = {stream_of("azure_conversation", 1, 45'000, 22.5),
                                       stream_of("azure_code", 2, 40'000, 20),
                                       stream_of("mooncake_conversation", 3, 15'000, 7.5)};
  const std::vector<std::string> names = {"conversation", "code", "mooncake"};
  Scheduler scheduler(traffic_options(30'000), machine());
  const TrafficReport report = serve(scheduler, machine(), streams, 20'000);

  const Counts& c = scheduler.counts();
  EXPECT_EQ(c.finished, 100'000U);
  EXPECT_EQ(c.accepted, c.finished);
  EXPECT_EQ(c.wasted_tokens, 0U);
  EXPECT_EQ(scheduler.ledger().held(), 0U);
  std::uint64_t prompt = 0;
  std::uint64_t hits = 0;
  std::uint64_t answers = 0;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const StreamReport& r = report.streams[i];
    EXPECT_EQ(r.refused, 0U);
    EXPECT_EQ(r.first_tokens.size(), streams[i].arrivals.size());
    record(names[i] + "_ttft_p50_ms", seconds(percentile(r.first_tokens, 0.5)) * 1e3);
    record(names[i] + "_ttft_p99_ms", seconds(percentile(r.first_tokens, 0.99)) * 1e3);
    record(names[i] + "_hit_rate", rate(r.hit_tokens, r.prompt_tokens));
    prompt += r.prompt_tokens;
    hits += r.hit_tokens;
    answers += r.answer_tokens;
  }
  // The machine is full at times, but the tenant that asks for less than its share hardly sees it.
  EXPECT_LT(percentile(report.streams[0].first_tokens, 0.99), 1s);
  // Every prompt token was found or computed, and only what a pre-emption lost was computed again.
  EXPECT_LE(c.prompt_rows, prompt - hits);
  EXPECT_EQ(c.answer_tokens, answers);
  record("ideal_hit_rate",
         rate(ideal_hits(streams[2].arrivals, 64), report.streams[2].prompt_tokens));
  record("tokens_per_second", static_cast<double>(prompt + answers) / seconds(report.end));
  record("rows_per_second", static_cast<double>(c.prompt_rows + c.recomputed_rows + c.decode_rows) /
                                seconds(report.end));
  record("virtual_seconds", seconds(report.end));
  record("steps", static_cast<double>(report.steps));
  record("preemptions", static_cast<double>(c.memory_preemptions));
}

TEST(Traffic, PrefixHitsComeNearThoseOfACacheWithoutBoundsWhenThereIsRoom) {
  const std::vector<Stream> streams = {stream_of("mooncake_conversation", 3, 2200, 5)};
  const auto hits_with = [&](std::uint32_t pages) {
    Scheduler scheduler(traffic_options(pages), machine());
    const TrafficReport report = serve(scheduler, machine(), streams, 1000);
    EXPECT_EQ(scheduler.counts().finished, 2200U);
    return rate(report.streams[0].hit_tokens, report.streams[0].prompt_tokens);
  };
  std::uint64_t prompt = 0;
  for (const Arrival& a : streams[0].arrivals) prompt += a.prompt;
  const double ideal = rate(ideal_hits(streams[0].arrivals, streams[0].block_tokens), prompt);
  const double roomy = hits_with(400'000);
  const double tight = hits_with(6000);
  record("ideal", ideal);
  record("roomy", roomy);
  record("tight", tight);
  EXPECT_LE(roomy, ideal + 1e-3);  // Two random tokens may agree and be copied.
  EXPECT_GE(roomy, 0.99 * ideal);
  EXPECT_LT(tight, 0.9 * roomy);
}

TEST(Traffic, AnExcerptRepeatsAtTheRateItIsAskedFor) {
  const Stream s = stream_of("azure_code", 1, 6000, 10);
  ASSERT_EQ(s.arrivals.size(), 6000U);
  EXPECT_NEAR(seconds(s.arrivals.back().at), 600, 1);
  for (std::size_t i = 1; i < s.arrivals.size(); ++i)
    ASSERT_LE(s.arrivals[i - 1].at, s.arrivals[i].at);
}

TEST(Traffic, TheIdealCacheFindsWhatAnyEarlierPromptBeganWith) {
  const auto prompt = [](std::uint32_t tokens, std::vector<std::uint64_t> blocks) {
    return Arrival{Instant{}, tokens, 1, std::move(blocks)};
  };
  EXPECT_EQ(ideal_hits({prompt(20, {1, 2}), prompt(20, {1, 2})}, 10), 19U);
  EXPECT_EQ(ideal_hits({prompt(15, {1, 2}), prompt(20, {1, 2})}, 10), 15U);
  EXPECT_EQ(ideal_hits({prompt(20, {1, 2}), prompt(20, {2, 1}), prompt(20, {1, 3})}, 10), 10U);
  EXPECT_EQ(ideal_hits({prompt(20, {}), prompt(20, {})}, 10), 0U);
}

}  // namespace
}  // namespace weir::sched
