#include "weir/measure/html_report.h"

#include <gtest/gtest.h>

#include "weir/measure/svg_plot.h"

namespace weir::measure {
namespace {

RunReport run_at(double rate, int ttft_ms) {
  RunReport run;
  run.facts.model = "a <model>";
  run.facts.request_rate = rate;
  run.slo = *parse_slo("ttft:100");
  for (int i = 0; i < 20; ++i) {
    RequestRecord record;
    record.outcome = Outcome::kCompleted;
    record.scheduled = std::chrono::milliseconds(100 * i);
    record.first_token = record.scheduled + std::chrono::milliseconds(ttft_ms + i);
    record.last_token = record.done = record.first_token + std::chrono::milliseconds(20);
    record.gaps = {std::chrono::milliseconds(20)};
    record.pieces = record.completion_tokens = 2;
    run.records.push_back(record);
  }
  run.all = figures(run.records, run.slo, 2.0);
  return run;
}

TEST(HtmlReport, HoldsEveryPlotAndFetchesNothing) {
  const std::vector<RunReport> runs{run_at(1, 50), run_at(2, 90)};
  const std::string page = html_report(runs);
  for (const char* title :
       {"TTFT: share", "TPOT: share", "E2E: share", "TTFT by when", "Output tokens",
        "Requests under way", "Attainment over offered rate (ttft:100)"}) {
    EXPECT_NE(page.find(title), std::string::npos) << title;
  }
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("a &lt;model&gt;"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
  EXPECT_EQ(page.find("inf"), std::string::npos);
}

TEST(HtmlReport, OneRateIsNoCurve) {
  EXPECT_EQ(html_report(std::vector{run_at(1, 50)}).find("Attainment over"), std::string::npos);
}

TEST(SvgPlot, WithoutPointsThereIsNone) {
  EXPECT_EQ(svg_of({.title = "t", .x_log = true, .series = {{"s", {{0, 1}, {-1, 2}}}}}), "");
}

TEST(SvgPlot, AnAxisHasNumbersHoweverNarrowItIs) {
  for (const double to : {42.0, 60.0, 4000.0}) {
    const std::string svg =
        svg_of({.title = "t", .x_log = true, .series = {{"s", {{40, 0.5}, {to, 1}}}}});
    std::size_t ticks = 0;
    for (std::size_t at = svg.find("\"tick\""); at != std::string::npos;
         at = svg.find("\"tick\"", at + 1)) {
      ticks += svg.compare(svg.find("text-anchor", at), 20, "text-anchor=\"middle\"") == 0 ? 1 : 0;
    }
    EXPECT_GE(ticks, 2U) << to;
    EXPECT_LE(ticks, 9U) << to;
  }
}

TEST(SvgPlot, NamesStandAboveAllThatIsDrawn) {
  Plot plot{.title = "t"};
  for (int i = 0; i < 12; ++i) {
    plot.series.push_back({std::string(30, static_cast<char>('a' + i)), {{0, 0}, {1, 1}}});
  }
  const std::string svg = svg_of(plot);
  const double lowest = std::stod(svg.substr(svg.find("y=\"", svg.rfind("class=\"key")) + 3));
  const double highest = std::stod(svg.substr(svg.rfind("cy=\"") + 4));
  EXPECT_GT(highest, lowest);
  EXPECT_EQ(svg.find("viewBox=\"0 0 640 300\""), std::string::npos) << "it grows for its names";
}

TEST(SvgPlot, OnePointIsDrawn) {
  const std::string svg = svg_of({.title = "t", .series = {{"s", {{0, 0}}}}});
  EXPECT_NE(svg.find("<circle"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace weir::measure
