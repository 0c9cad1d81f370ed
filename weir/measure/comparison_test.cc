#include "weir/measure/comparison.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weir/measure/random_draw.h"
#include "weir/measure/run_report.h"

namespace weir::measure {
namespace {

ComparedRun run(std::string label, double throughput, double middle_ms, std::uint64_t seed) {
  ComparedRun r;
  r.label = std::move(label);
  r.request_throughput = r.output_throughput = r.goodput = throughput;
  for (std::uint32_t i = 0; i < 300; ++i) {
    r.ttft_ms.push_back(middle_ms * (0.5 + Draw(seed, Stream::kInput, i).uniform()));
  }
  return r;
}

const ComparedFigure& figure(const Comparison& comparison, std::string_view name) {
  for (const auto& f : comparison.figures) {
    if (f.name == name) return f;
  }
  ADD_FAILURE() << "no figure " << name;
  return comparison.figures.front();
}

TEST(Comparison, ThreeRunsOfEachMakeTheRunTheUnit) {
  std::vector<ComparedRun> runs;
  for (const double x : {10.0, 12.0, 14.0}) runs.push_back(run("a", x, 100, 1));
  for (const double x : {20.0, 24.0, 28.0}) runs.push_back(run("b", x, 50, 2));
  const Comparison c = compare(runs);
  EXPECT_TRUE(c.by_run);
  const auto& f = figure(c, "requests/s");
  // 12 +- t(2) * 2 / sqrt(3)
  EXPECT_DOUBLE_EQ(f.of_label[0].value, 12);
  EXPECT_NEAR(*f.of_label[0].low, 12 - 4.303 * 2 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(f.ratio_to_first[1].value, 2, 1e-9);
  EXPECT_LT(*f.ratio_to_first[1].low, 2);
  EXPECT_GT(*f.ratio_to_first[1].low, 1);
  EXPECT_NE(comparison_table(c).find("better"), std::string::npos);
}

TEST(Comparison, ASingleRunOfEachResamplesItsRequests) {
  const std::vector<ComparedRun> runs{run("a", 10, 100, 1), run("b", 11, 60, 2)};
  const Comparison c = compare(runs);
  EXPECT_FALSE(c.by_run);
  const auto& f = figure(c, "TTFT p50 ms");
  EXPECT_LT(*f.of_label[0].low, f.of_label[0].value);
  EXPECT_GT(*f.of_label[0].high, f.of_label[0].value);
  EXPECT_LT(*f.ratio_to_first[1].high, 1) << "60 is less than 100 beyond doubt";
  EXPECT_FALSE(figure(c, "requests/s").of_label[0].low) << "one number has no interval";
  EXPECT_NE(comparison_table(c).find("three runs"), std::string::npos);
}

TEST(Comparison, EqualServersAreNotToldApart) {
  const std::vector<ComparedRun> runs{run("a", 10, 100, 1), run("b", 10, 100, 2)};
  const auto compared = compare(runs);
  const auto& ratio = figure(compared, "TTFT p50 ms").ratio_to_first[1];
  EXPECT_LE(*ratio.low, 1);
  EXPECT_GE(*ratio.high, 1);
}

TEST(Comparison, ReadsWhatTheReportWrites) {
  RunReport report;
  report.facts.label = "ours";
  report.facts.concurrency = 8;
  RequestRecord record;
  record.outcome = Outcome::kCompleted;
  record.first_token = std::chrono::milliseconds(100);
  record.last_token = std::chrono::milliseconds(160);
  record.gaps = {std::chrono::milliseconds(20), std::chrono::milliseconds(40)};
  record.pieces = record.completion_tokens = 3;
  report.records = {record, RequestRecord{}};
  report.all = figures(report.records, {}, 2.0);
  const auto read = read_run(json_report(report, true), "file");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->label, "ours");
  EXPECT_EQ(read->load, "8 users");
  EXPECT_DOUBLE_EQ(read->request_throughput, 0.5);
  ASSERT_EQ(read->ttft_ms.size(), 1U) << "what was never sent has no latency";
  EXPECT_DOUBLE_EQ(read->ttft_ms[0], 100);
  EXPECT_DOUBLE_EQ(read->tpot_ms[0], 30);
  EXPECT_DOUBLE_EQ(read->e2el_ms[0], 160);
  EXPECT_EQ(read->itl_ms.size(), 2U);
  EXPECT_EQ(read_run("{}", "file").error().code, Code::kCorrupt);
  EXPECT_FALSE(read_run("[1]", "file"));
  EXPECT_FALSE(read_run("", "file"));
}

TEST(Comparison, TheMarkdownIsATable) {
  const std::vector<ComparedRun> runs{run("a", 10, 100, 1), run("b", 11, 60, 2)};
  const std::string text = comparison_markdown(compare(runs));
  EXPECT_NE(text.find("| a | b | b / a |\n|---|---|---|---|\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace weir::measure
