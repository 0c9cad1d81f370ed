#include "weir/plan/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "weir/plan/text_columns.h"

namespace weir::plan {
namespace {

using testing::HasSubstr;
using testing::Not;

Answer small() {
  Answer a;
  a.question = "fit";
  a.headline = "It \"fits\" & all.";
  a.step("pool", "KV pool", "80 GB - 35 GB", gigabytes(45), "C");
  a.step("never", "wait", "", Seconds{std::numeric_limits<double>::infinity()}, "");
  a.tables.push_back({.title = "Ladder",
                      .columns = {"context", "KV, each"},
                      .rows = {{count(1024, "tokens"), gigabytes(0.3)},
                               {std::string("a \"b\", c"), gigabytes(2)}}});
  a.note("<b>80 GiB</b>");
  return a;
}

TEST(WriteText, SaysTheAnswerFirstThenTheArithmetic) {
  const std::string text = write_text(small());
  EXPECT_TRUE(text.starts_with("It \"fits\" & all.\n\nArithmetic\n"));
  EXPECT_THAT(text, HasSubstr("  KV pool      45 GB  = 80 GB - 35 GB  [C]\n"));
  EXPECT_THAT(text, HasSubstr("unbounded"));
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', end + 1))
    EXPECT_FALSE(end > 0 && text[end - 1] == ' ') << "a line ends with a space";
}

TEST(WriteJson, EscapesAndHasNoInfinity) {
  const std::string json = write_json(small());
  EXPECT_THAT(json, HasSubstr(R"("answer": "It \"fits\" & all.")"));
  EXPECT_THAT(json, HasSubstr(R"("pool": {"value": 45000000000, "unit": "B"})"));
  EXPECT_THAT(json, HasSubstr(R"("never": {"value": null, "unit": "s"})"));
  EXPECT_THAT(json, Not(HasSubstr("inf")));
}

TEST(WriteCsv, QuotesAndNamesUnits) {
  EXPECT_EQ(write_csv(small()),
            "context [tokens],\"KV, each [B]\"\r\n"
            "1024,300000000\r\n"
            "\"a \"\"b\"\", c\",2000000000\r\n");
  Answer steps = small();
  steps.tables.clear();
  EXPECT_THAT(write_csv(steps), HasSubstr("pool,KV pool,45000000000,B,80 GB - 35 GB\r\n"));
}

TEST(WriteHtml, EscapesWhatItShows) {
  const std::string html = write_html("A <title>", "", {small()});
  EXPECT_THAT(html, HasSubstr("A &lt;title&gt;"));
  EXPECT_THAT(html, HasSubstr("&lt;b&gt;80 GiB&lt;/b&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
}

TEST(WriteSvg, DrawsWhatCanBeDrawnAndNothingElse) {
  Chart chart{.title = "a < b",
              .x = {"x", true},
              .y = {"y", false},
              .series = {},
              .marks = {{"m", 1e9, true}}};
  const double inf = std::numeric_limits<double>::infinity();
  chart.series.push_back(
      {.name = "s", .points = {{-1, 1}, {0, 2}, {1, inf}, {10, 3}, {100, -inf}, {1000, 4}}});
  const std::string svg = write_svg(chart);
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  for (const char* wrong : {"nan", "inf"}) EXPECT_THAT(svg, Not(HasSubstr(wrong)));
  // Two points are left: one M and one L.
  EXPECT_THAT(svg, HasSubstr("L"));
}

TEST(WriteSvg, MeasurementsShowAsDotsOnTheirLine) {
  Chart chart{.title = "", .x = {"x", true}, .y = {"y", true}, .series = {}, .marks = {}};
  chart.series.push_back({.name = "k", .points = {{1, 10}, {-1, 10}, {100, 1000}}, .dots = true});
  const std::string svg = write_svg(chart);
  std::size_t dots = 0;
  for (std::size_t at = 0; (at = svg.find("<circle", at)) != svg.npos; ++at) ++dots;
  EXPECT_EQ(dots, 2U) << "what an axis cannot show is left out";
  EXPECT_THAT(svg, HasSubstr("<title>k: 1,000 at 100</title>"));
}

TEST(WriteSvg, NothingToDrawIsStillAPicture) {
  for (bool log : {false, true}) {
    const std::string svg = write_svg({.title = "",
                                       .x = {"x", log},
                                       .y = {"y", log},
                                       .series = {{.name = "none", .points = {}}},
                                       .marks = {}});
    EXPECT_TRUE(svg.starts_with("<svg"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
  }
}

TEST(Wrapped, BreaksAtSpacesOnly) {
  EXPECT_EQ(wrapped("aa bb cc", 7, "  "), "  aa bb\n  cc\n");
  EXPECT_EQ(wrapped("averylongword b", 4, ""), "averylongword\nb\n");
  EXPECT_EQ(wrapped("", 4, ""), "");
}

}  // namespace
}  // namespace weir::plan
