#include "weir/measure/figures.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "weir/measure/run_report.h"

namespace weir::measure {
namespace {

using std::chrono::milliseconds;

/// Scheduled, first token so long after, then one gap after another.
RequestRecord answer(int at_ms, int ttft_ms, const std::vector<int>& gaps_ms) {
  RequestRecord record;
  record.outcome = Outcome::kCompleted;
  record.status = 200;
  record.scheduled = record.sent = milliseconds(at_ms);
  record.first_token = record.last_token = record.scheduled + milliseconds(ttft_ms);
  record.pieces = 1;
  for (const int gap : gaps_ms) {
    record.gaps.push_back(milliseconds(gap));
    record.last_token += milliseconds(gap);
    ++record.pieces;
  }
  record.done = record.last_token;
  record.prompt_tokens = 10;
  record.completion_tokens = record.pieces;
  record.usage_told = true;
  return record;
}

RequestRecord refused(int at_ms, int status) {
  RequestRecord record;
  record.outcome = Outcome::kStatus;
  record.status = status;
  record.scheduled = record.sent = milliseconds(at_ms);
  record.done = record.scheduled + milliseconds(1);
  return record;
}

TEST(Summary, QuantilesInterpolateAsNumpyDoes) {
  // numpy.percentile([1, 2, 4, 8], [50, 90, 95, 99, 99.9])
  const Summary s = summarize({8, 1, 4, 2});
  EXPECT_DOUBLE_EQ(s.p50, 3);
  EXPECT_NEAR(s.p90, 6.8, 1e-12);
  EXPECT_NEAR(s.p95, 7.4, 1e-12);
  EXPECT_NEAR(s.p99, 7.88, 1e-12);
  EXPECT_NEAR(s.p999, 7.988, 1e-12);
  EXPECT_DOUBLE_EQ(s.mean, 3.75);
  EXPECT_NEAR(s.deviation, 2.680951323690902, 1e-12);
  EXPECT_EQ(summarize({}).count, 0U);
}

TEST(Slo, IsReadAndWrittenAlike) {
  const auto slo = parse_slo("ttft:1000,tpot:50.5");
  ASSERT_TRUE(slo);
  EXPECT_EQ(slo->ttft_ms, 1000);
  EXPECT_EQ(slo->tpot_ms, 50.5);
  EXPECT_FALSE(slo->e2el_ms);
  EXPECT_EQ(slo->text(), "ttft:1000,tpot:50.5");
  for (const char* text : {"", "ttft", "ttft:", "ttft:0", "ttft:-1", "ttft:inf", "tps:5",
                           "ttft:1,ttft:2", "ttft:1,,"}) {
    EXPECT_FALSE(parse_slo(text)) << text;
  }
}

TEST(Slo, EveryLimitMustHold) {
  const auto record = answer(0, 100, {10, 30});  // TPOT 20, E2E 140, stall 30.
  EXPECT_TRUE(parse_slo("ttft:100,tpot:20,e2el:140,stall:30")->met(record));
  EXPECT_FALSE(parse_slo("ttft:99")->met(record));
  EXPECT_FALSE(parse_slo("tpot:19.9")->met(record));
  EXPECT_FALSE(parse_slo("e2el:139")->met(record));
  EXPECT_FALSE(parse_slo("stall:29")->met(record));
  EXPECT_FALSE(parse_slo("ttft:1000")->met(refused(0, 503)));
  EXPECT_TRUE(parse_slo("tpot:1")->met(answer(0, 5, {}))) << "one token has no TPOT to miss";
}

TEST(Figures, AreExactForKnownAnswers) {
  const std::vector<RequestRecord> records{answer(0, 100, {10, 20, 30}),
                                           answer(500, 300, {40, 40, 40})};
  const Figures f = figures(records, {}, 2.0);
  EXPECT_EQ(f.completed, 2U);
  EXPECT_DOUBLE_EQ(f.ttft.mean, 200);
  EXPECT_DOUBLE_EQ(f.ttft.p50, 200);
  EXPECT_DOUBLE_EQ(f.tpot.mean, 30);  // (60/3 + 120/3) / 2
  EXPECT_EQ(f.itl.count, 6U);
  EXPECT_DOUBLE_EQ(f.itl.p50, 35);
  EXPECT_DOUBLE_EQ(f.e2el.most, 420);
  EXPECT_DOUBLE_EQ(f.stall.most, 40);
  EXPECT_EQ(f.input_tokens, 20U);
  EXPECT_EQ(f.output_tokens, 8U);
  EXPECT_DOUBLE_EQ(f.request_throughput, 1);
  EXPECT_DOUBLE_EQ(f.output_throughput, 4);
  EXPECT_DOUBLE_EQ(f.total_token_throughput, 14);
  EXPECT_DOUBLE_EQ(f.peak_output_throughput, 8);
  EXPECT_EQ(f.most_concurrent, 1U);
  EXPECT_TRUE(f.usage_told);
}

TEST(Figures, RefusingDoesNotLookGood) {
  const std::vector<RequestRecord> records{answer(0, 100, {10}), refused(1, 429), refused(2, 429),
                                           refused(3, 500)};
  const Figures f = figures(records, *parse_slo("ttft:500"), 1.0);
  EXPECT_EQ(f.offered, 4U);
  EXPECT_EQ(f.failed, 3U);
  EXPECT_DOUBLE_EQ(f.attainment, 0.25);
  EXPECT_DOUBLE_EQ(f.completion, 0.25);
  EXPECT_DOUBLE_EQ(f.request_goodput, 1);
  const std::vector<std::pair<std::string, std::uint64_t>> kinds{{"http_429", 2}, {"http_500", 1}};
  EXPECT_EQ(f.errors, kinds);
}

TEST(Figures, WhatThePlanTookAwayIsNotOffered) {
  RequestRecord left;
  left.outcome = Outcome::kLeft;
  const std::vector<RequestRecord> records{answer(0, 100, {}), left, RequestRecord{}};
  const Figures f = figures(records, {}, 1.0);
  EXPECT_EQ(f.offered, 1U);
  EXPECT_EQ(f.left, 1U);
  EXPECT_EQ(f.unsent, 1U);
  EXPECT_DOUBLE_EQ(f.attainment, 1);
}

TEST(Figures, LatencyCountsFromWhenTheRequestWasWanted) {
  RequestRecord late = answer(0, 100, {});
  late.sent += milliseconds(80);
  const Figures f = figures(std::vector{late}, {}, 1.0);
  EXPECT_DOUBLE_EQ(f.ttft.p50, 100);
  EXPECT_DOUBLE_EQ(f.lag.p50, 80);
}

TEST(Figures, ConcurrencyIsTheMostAtAnyInstant) {
  // [0,100) [50,150) [100,200): the third begins as the first ends.
  const std::vector<RequestRecord> records{answer(0, 100, {}), answer(50, 100, {}),
                                           answer(100, 100, {})};
  EXPECT_EQ(figures(records, {}, 1.0).most_concurrent, 2U);
}

TEST(Figures, TenantsAreToldApart) {
  std::vector<RequestRecord> records{answer(0, 100, {}), answer(0, 200, {})};
  records[1].tenant = 1;
  const std::vector<Tenant> tenants{{"a", "", 1}, {"b", "", 1}};
  const auto each = figures_by_tenant(records, tenants, {}, 1.0);
  ASSERT_EQ(each.size(), 2U);
  EXPECT_EQ(each[1].name, "b");
  EXPECT_DOUBLE_EQ(each[1].ttft.p50, 200);
  EXPECT_TRUE(figures_by_tenant(records, std::vector<Tenant>{{"a", "", 1}}, {}, 1.0).empty());
}

TEST(RunReport, TheJsonHasTheNamesOfVllmBenchServe) {
  RunReport report;
  report.facts.model = "m";
  report.facts.request_rate = 2.5;
  report.records = {answer(0, 100, {10, 20}), refused(5, 429)};
  report.all = figures(report.records, {}, 1.0);
  const auto json = boost::json::parse(json_report(report, true)).as_object();
  for (const char* name : {"date",
                           "backend",
                           "model_id",
                           "num_prompts",
                           "request_rate",
                           "burstiness",
                           "max_concurrency",
                           "duration",
                           "completed",
                           "failed",
                           "total_input_tokens",
                           "total_output_tokens",
                           "request_throughput",
                           "request_goodput",
                           "output_throughput",
                           "total_token_throughput",
                           "max_output_tokens_per_s",
                           "max_concurrent_requests",
                           "input_lens",
                           "output_lens",
                           "ttfts",
                           "itls",
                           "start_times",
                           "errors",
                           "mean_ttft_ms",
                           "median_ttft_ms",
                           "std_ttft_ms",
                           "p99_ttft_ms",
                           "mean_tpot_ms",
                           "p90_itl_ms",
                           "p99.9_e2el_ms"}) {
    EXPECT_TRUE(json.contains(name)) << name;
  }
  EXPECT_EQ(json.at("request_rate"), 2.5);
  EXPECT_DOUBLE_EQ(json.at("ttfts").as_array()[0].as_double(), 0.1);
  EXPECT_EQ(json.at("itls").as_array()[0].as_array().size(), 2U);
  EXPECT_EQ(json.at("weir").at("outcomes").as_array()[1], "http_status");
  EXPECT_FALSE(boost::json::parse(json_report(report, false)).as_object().contains("ttfts"));
}

TEST(RunReport, TheTableFitsATerminalAndWarns) {
  RunReport report;
  report.facts.model = "m";
  report.facts.concurrency = 4;
  report.facts.wall_s = 1;
  report.facts.client_cpu_s = 0.8;
  report.facts.stopped = "it was interrupted";
  report.records = {answer(0, 100, {10, 20})};
  report.all = figures(report.records, *parse_slo("ttft:50"), 1.0);
  report.slo = *parse_slo("ttft:50");
  const std::string table = table_report(report);
  EXPECT_NE(table.find("! the run was stopped: it was interrupted"), std::string::npos);
  EXPECT_NE(table.find("! the client used over half a core"), std::string::npos);
  EXPECT_NE(table.find("0.0 % meet ttft:50"), std::string::npos);
  std::size_t at = 0;
  while (at < table.size()) {
    const std::size_t end = table.find('\n', at);
    EXPECT_LE(end - at, 100U) << table.substr(at, end - at);
    at = end + 1;
  }
}

}  // namespace
}  // namespace weir::measure
