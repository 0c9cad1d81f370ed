#include "weir/load/run_load.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "weir/load/echo_server.h"
#include "weir/measure/figures.h"
#include "weir/measure/workload.h"

namespace weir::load {
namespace {

using measure::Outcome;

/// An echo server and loads against it. No test here depends on how long anything takes.
class RunLoad : public testing::Test {
 protected:
  void serve(const EchoOptions& options = {}) {
    server_ = *EchoServer::start(options);
    target_ = *parse_target(fmt::format(":{}", server_->port()));
  }

  static measure::Plan plan(std::uint32_t count, const measure::WorkloadSpec& spec = {}) {
    return measure::make_plan(measure::synthetic_entries({.a = 12}, {.a = 5}, count, 1), spec);
  }

  LoadRun run(const measure::Plan& planned, const LoadOptions& options,
              const std::function<bool()>& stop = {}) {
    measure::BodySpec bodies{.endpoint = options.endpoint, .model = "echo"};
    auto done = run_load(target_, options, planned, measure::BodyWriter(bodies), stop);
    EXPECT_TRUE(done.has_value());
    return std::move(*done);
  }

  static std::size_t count(const LoadRun& run, Outcome outcome) {
    return static_cast<std::size_t>(
        std::ranges::count(run.records, outcome, &measure::RequestRecord::outcome));
  }

  std::unique_ptr<EchoServer> server_;
  Target target_;
};

TEST_F(RunLoad, AClosedLoopAnswersAllAndKeepsToItsUsers) {
  serve();
  const LoadRun done = run(plan(50), {.concurrency = 4});
  EXPECT_EQ(count(done, Outcome::kCompleted), 50U);
  EXPECT_LE(measure::figures(done.records, {}, 1).most_concurrent, 4U);
  for (const auto& record : done.records) {
    EXPECT_EQ(record.pieces, 5U);
    EXPECT_EQ(record.completion_tokens, 5U);
    EXPECT_EQ(record.prompt_tokens, 12U + 7U);
    EXPECT_LE(record.scheduled, record.sent);
    EXPECT_LE(record.sent, record.first_token);
    EXPECT_LE(record.first_token, record.last_token);
    EXPECT_LE(record.last_token, record.done);
  }
  EXPECT_TRUE(done.stopped.empty());
}

TEST_F(RunLoad, AnOpenLoopSendsWhateverTheServerDoes) {
  serve({.first = std::chrono::hours(1)});  // Never answers.
  measure::Plan planned = plan(20);
  for (std::size_t i = 0; i < planned.requests.size(); ++i) {
    planned.requests[i].at = std::chrono::milliseconds(i);
  }
  const LoadRun done = run(planned, {.drain = std::chrono::milliseconds(10)});
  EXPECT_EQ(count(done, Outcome::kCutOff), 20U);
  EXPECT_NE(done.stopped.find("20 requests had no answer"), std::string::npos) << done.stopped;
  for (std::size_t i = 0; i < planned.requests.size(); ++i) {
    EXPECT_EQ(done.records[i].scheduled, planned.requests[i].at);
  }
}

TEST_F(RunLoad, ADrownedServerIsLeftAlone) {
  serve({.first = std::chrono::hours(1)});
  const LoadRun done = run(plan(20), {.max_outstanding = 8});
  EXPECT_EQ(count(done, Outcome::kCutOff), 8U);
  EXPECT_EQ(count(done, Outcome::kUnsent), 12U);
  EXPECT_NE(done.stopped.find("drowned"), std::string::npos);
}

TEST_F(RunLoad, AnObjectiveOutOfReachEndsIt) {
  serve({.first = std::chrono::hours(1)});
  measure::Plan planned = plan(40);  // The last comes after an hour.
  for (std::size_t i = 20; i < planned.requests.size(); ++i) {
    planned.requests[i].at = std::chrono::hours(1);
  }
  const LoadRun done = run(planned, {.slo = *measure::parse_slo("ttft:20"), .most_missed = 4});
  EXPECT_EQ(done.stopped, "5 of 40 requests have missed ttft:20");
  EXPECT_EQ(count(done, Outcome::kCutOff), 20U) << "they wait for their first tokens still";
  EXPECT_EQ(count(done, Outcome::kUnsent), 20U);
}

TEST_F(RunLoad, AnObjectiveMissedByFewEnoughDoesNot) {
  serve({.fail_every = 10});
  const LoadRun done = run(
      plan(40), {.concurrency = 1, .slo = *measure::parse_slo("ttft:3600000"), .most_missed = 4});
  EXPECT_EQ(count(done, Outcome::kStatus), 4U);
  EXPECT_EQ(count(done, Outcome::kCompleted), 36U);
  EXPECT_TRUE(done.stopped.empty());
}

TEST_F(RunLoad, AnswersTooSlowEndItWhenTheyEnd) {
  serve();
  const LoadRun done = run(
      plan(40), {.concurrency = 1, .slo = *measure::parse_slo("e2el:0.000001"), .most_missed = 4});
  EXPECT_EQ(count(done, Outcome::kCompleted), 5U);
  EXPECT_EQ(count(done, Outcome::kUnsent), 35U);
}

TEST_F(RunLoad, FailuresInARowEndIt) {
  serve({.fail_every = 1});
  const LoadRun done = run(plan(50), {.concurrency = 1, .give_up_after = 3});
  EXPECT_EQ(count(done, Outcome::kStatus), 3U);
  EXPECT_NE(done.stopped.find("it was asked to fail"), std::string::npos);
}

TEST_F(RunLoad, FailuresBetweenAnswersDoNot) {
  serve({.fail_every = 2});
  const LoadRun done = run(plan(50), {.concurrency = 1, .give_up_after = 2});
  EXPECT_EQ(count(done, Outcome::kStatus), 25U);
  EXPECT_EQ(count(done, Outcome::kCompleted), 25U);
}

TEST_F(RunLoad, ClientsThatLeaveHangUp) {
  serve({.first = std::chrono::hours(1)});
  const LoadRun done = run(plan(6, {.leave_fraction = 1}), {});
  EXPECT_EQ(count(done, Outcome::kLeft), 6U);
  EXPECT_TRUE(done.stopped.empty());
}

TEST_F(RunLoad, ATimeoutIsCountedAsOne) {
  serve({.first = std::chrono::hours(1)});
  const LoadRun done = run(plan(2), {.request_timeout = std::chrono::milliseconds(20)});
  EXPECT_EQ(count(done, Outcome::kTimeout), 2U);
}

TEST_F(RunLoad, AnInterruptedRunKeepsWhatItHas) {
  serve({.first = std::chrono::hours(1)});
  const LoadRun done = run(plan(4), {.concurrency = 2}, [] { return true; });
  EXPECT_EQ(count(done, Outcome::kCutOff), 2U);
  EXPECT_EQ(count(done, Outcome::kUnsent), 2U);
  EXPECT_EQ(done.stopped, "it was interrupted");
}

TEST_F(RunLoad, EachTurnSendsAllBeforeIt) {
  serve();
  const LoadRun done = run(plan(6, {.turns = 3}), {.concurrency = 1});
  ASSERT_EQ(count(done, Outcome::kCompleted), 6U);
  // Words of the prompt, by the echo's count: 12 of a turn, and the answer " word" * 5.
  EXPECT_EQ(done.records[0].prompt_tokens, 12U + 7U);
  EXPECT_GT(done.records[1].prompt_tokens, done.records[0].prompt_tokens + 12U);
  EXPECT_GT(done.records[2].prompt_tokens, done.records[1].prompt_tokens + 12U);
  EXPECT_EQ(done.records[3].prompt_tokens, 12U + 7U);
  EXPECT_GE(done.records[1].scheduled, done.records[0].done);
}

TEST_F(RunLoad, EveryEndpointIsSpoken) {
  serve();
  for (const auto endpoint : {measure::Endpoint::kChat, measure::Endpoint::kCompletions,
                              measure::Endpoint::kEmbeddings}) {
    const LoadRun done = run(plan(3), {.endpoint = endpoint, .concurrency = 1});
    EXPECT_EQ(count(done, Outcome::kCompleted), 3U);
  }
}

TEST_F(RunLoad, TheTextsScaleIsMeasured) {
  serve();
  EXPECT_EQ(*first_model(target_, ""), "echo");
  const auto scale = measure_scale(target_, {.model = "echo"}, "", 1);
  ASSERT_TRUE(scale);
  EXPECT_DOUBLE_EQ(scale->tokens_per_word, 1);
  EXPECT_DOUBLE_EQ(scale->overhead, 7);
}

TEST_F(RunLoad, BodiesAreBounded) {
  serve();
  measure::BodySpec bodies{.model = "echo"};
  const auto done =
      run_load(target_, {.max_body_bytes = 1000}, plan(50), measure::BodyWriter(bodies), {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kTooLarge);
}

TEST_F(RunLoad, NoServerIsSaidSo) {
  serve();
  server_->stop();
  server_.reset();
  const auto done = run_load(target_, {}, plan(1), measure::BodyWriter({.model = "echo"}), {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kUnavailable);
}

TEST(Target, UrlsAreReadAsPeopleWriteThem) {
  for (const char* text :
       {":8080", "127.0.0.1:8080", "http://127.0.0.1:8080", "http://127.0.0.1:8080/",
        "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/"}) {
    const auto target = parse_target(text);
    ASSERT_TRUE(target) << text;
    EXPECT_EQ(target->text(), "http://127.0.0.1:8080") << text;
    EXPECT_EQ(target->path(measure::Endpoint::kChat), "/v1/chat/completions");
  }
  EXPECT_EQ(parse_target("http://h/api/v1")->path(measure::Endpoint::kCompletions),
            "/api/v1/completions");
  EXPECT_EQ(parse_target("https://h").error().code, Code::kUnsupported);
  EXPECT_FALSE(parse_target("http://a:b@h"));
}

}  // namespace
}  // namespace weir::load
