#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"

namespace weir::plan {
namespace {

/// "L0=1M:10ms": candidates that enter, time of the stage.
struct Stage {
  std::string name;
  double in = 0;
  Seconds time;
};

Result<std::vector<Stage>> stages_of(const Arguments& a) {
  const auto& in = a.pairs("candidates");
  const auto& times = a.pairs("times");
  if (in.size() != times.size())
    return contradiction(
        fmt::format("names {} stages, but --candidates {}", times.size(), in.size()), "times");
  std::vector<Stage> stages;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].first != times[i].first)
      return contradiction(fmt::format("stage {} is '{}', but '{}' in --candidates", i + 1,
                                       times[i].first, in[i].first),
                           "times");
    if (i > 0 && in[i].second > in[i - 1].second)
      return contradiction(
          fmt::format("{} takes more candidates than the stage before passes on", in[i].first),
          "candidates");
    stages.push_back({in[i].first, in[i].second, {times[i].second}});
  }
  return stages;
}

Result<Answer> ask_cascade(const Arguments& a) {
  Answer out;
  out.question = "cascade";
  WEIR_TRY(const auto stages, stages_of(a));
  Table table{.title = "Stages",
              .columns = {"stage", "in", "out", "time", "so far", "each candidate"},
              .rows = {}};
  Chart chart{.title = "A ranking cascade",
              .x = {"time, ms", false},
              .y = {"candidates left", true},
              .series = {{.name = "candidates", .points = {}}},
              .marks = {}};
  Seconds sum{};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const double left = i + 1 < stages.size() ? stages[i + 1].in : a.number("results");
    chart.series[0].points.emplace_back(sum.value * 1e3, stages[i].in);
    sum += stages[i].time;
    chart.series[0].points.emplace_back(sum.value * 1e3, left);
    table.rows.push_back({stages[i].name, count(stages[i].in, ""), count(left, ""), stages[i].time,
                          sum, stages[i].time / stages[i].in});
  }
  const Stage& last = stages.back();
  // Given, or what the last stage takes for one of its own.
  const Seconds each = a.has("each") ? a.seconds("each") : last.time / last.in;
  const Seconds alone = each * stages.front().in;
  out.step("sum", "through the cascade", "sum of the stages", sum, "cascade");
  out.step("alone", fmt::format("{} on every candidate", last.name),
           fmt::format("{} x {}", show_number(stages.front().in), show(each)), alone, "cascade");
  out.step("times", "the cascade is cheaper by", fmt::format("{} / {}", show(alone), show(sum)),
           factor(alone / sum), "cascade");
  out.step("fewer", fmt::format("fewer candidates reach {}", last.name),
           fmt::format("{} / {}", show_number(stages.front().in), show_number(last.in)),
           factor(stages.front().in / last.in), "cascade");
  out.step("slack", "left of the deadline",
           fmt::format("{} - {}", show(a.seconds("deadline")), show(sum)),
           a.seconds("deadline") - sum, "deadline in every sub-request");
  chart.marks.push_back({"deadline", a.number("deadline") * 1e3, true});
  if (a.has("easy")) {
    // A6: a small model for easy requests, the large one for the rest.
    const double easy = a.number("easy"), wrong = a.number("router-error");
    const double small = a.number("small-cost");
    const double cost = easy * small + (1 - easy) + easy * wrong;
    out.step("router_cost", "cost with a difficulty router, of the large model alone",
             "easy x small + hard + easy x misrouted again", share(cost), "difficulty router");
  }
  out.headline =
      fmt::format("{} candidates become {} in {}: {} on all of them would take {} ({} as much).",
                  show_number(stages.front().in), show_number(a.number("results")), show(sum),
                  last.name, show(alone), show(factor(alone / sum)));
  out.tables.push_back(std::move(table));
  out.charts.push_back(std::move(chart));
  return out;
}

}  // namespace

Question cascade_question() {
  return {
      .name = "cascade",
      .summary = "Cheap models first: a ranking cascade stage by stage, and a difficulty router",
      .parameters =
          {bounded(pairs("candidates", Unit::kCount, "L0=1M,L1=10k,L2=1000,L3=100",
                         "Candidates that enter each stage"),
                   1, 1e15),
           bounded(pairs("times", Unit::kSeconds, "L0=10ms,L1=20ms,L2=50ms,L3=100ms",
                         "Time of each stage"),
                   1e-9, 1e5),
           whole("results", "10", 1, 1e12, "What comes out"),
           bounded(amount("each", Unit::kSeconds, "",
                          "Time of the last stage for one candidate (default: its time over its "
                          "candidates)"),
                   1e-12, 1e5),
           bounded(amount("deadline", Unit::kSeconds, "200ms", "Time for all of it"), 1e-6, 1e5),
           bounded(
               amount("easy", Unit::kFraction, "", "Share of requests a small model could answer"),
               0, 1),
           bounded(amount("router-error", Unit::kFraction, "0.05",
                          "Of them, sent to the small model and answered again by the large one"),
                   0, 1),
           bounded(amount("small-cost", Unit::kFraction, "0.1",
                          "Cost of the small model over the large one"),
                   0, 1)},
      .examples = {"cascade --each 1ms", "cascade --easy 70% --small-cost 5%"},
      .ask = ask_cascade};
}

}  // namespace weir::plan
