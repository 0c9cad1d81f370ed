#include "weir/measure/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "weir/base/check.h"
#include "weir/measure/svg_plot.h"

namespace weir::measure {
namespace {

constexpr std::string_view kStyle = R"(
:root{--ink:#1c2430;--dim:#5b6675;--grid:#e3e7ec;--page:#fff;--s0:#0b6bcb;--s1:#d1495b;--s2:#2a9d6f;--s3:#b8860b;
--s4:#7b4fb5;--s5:#0f8b8d;--s6:#c2571a;--s7:#5f6b7a}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--dim:#9aa5b4;--grid:#2c3440;--page:#14181f;--s0:#5aa9f5;
--s1:#f07f8d;--s2:#5fd1a0;--s3:#e0b64a;--s4:#b394e6;--s5:#52c7c9;--s6:#f0935a;--s7:#a3afbf}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);margin:2rem auto;max-width:1340px;
padding:0 1rem}h1{font-size:1.4rem;margin:0}p{color:var(--dim);margin:.2rem 0 1rem}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,560px),1fr));gap:1rem}
svg{width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:var(--dim)}svg .title{font-size:13px;
font-weight:600;fill:var(--ink)}svg .key{fill:currentColor}.c0{color:var(--s0)}.c1{color:var(--s1)}.c2{color:var(--s2)}.c3{color:var(--s3)}
.c4{color:var(--s4)}.c5{color:var(--s5)}.c6{color:var(--s6)}.c7{color:var(--s7)}svg .grid{stroke:var(--grid)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:1rem 0}
th,td{font-size:13px;padding:.25rem .35rem;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}
th:first-child,td:first-child{text-align:left})";

/// Of an axis of shares: a line at 1 stands clear of the edge.
constexpr double kWholeShare = 1.03;

std::string name_of(const RunReport& run) {
  if (run.facts.request_rate > 0) return fmt::format("{:.4g} requests/s", run.facts.request_rate);
  return fmt::format("{} user{}", run.facts.concurrency, run.facts.concurrency == 1 ? "" : "s");
}

using Value = std::function<std::optional<double>(const RequestRecord&)>;

/// Of each run, the share of requests at or below each value.
std::string distribution(std::span<const RunReport> runs, std::string_view what,
                         const Value& value) {
  Plot plot{.title = fmt::format("{}: share of requests at or below", what),
            .x_label = "milliseconds",
            .y_label = "share",
            .x_log = true,
            .series = {},
            .y_to = kWholeShare};
  std::optional<double> from;
  for (const auto& run : runs) {
    std::vector<double> values;
    for (const auto& record : run.records) {
      if (!record.completed()) continue;
      if (const auto v = value(record)) values.push_back(*v);
    }
    std::ranges::sort(values);
    if (!values.empty()) {
      const double low = values[values.size() / 4] / 5;
      from = std::min(from.value_or(low), low);
    }
    Series series{name_of(run), {}, false, true};
    const auto count = static_cast<double>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      series.points.emplace_back(values[i], static_cast<double>(i + 1) / count);
    }
    plot.series.push_back(std::move(series));
  }
  // A few answers whose tokens came at once would leave the rest one line at the right.
  plot.x_from = from.value_or(0);
  return svg_of(plot);
}

std::string first_tokens_over_time(std::span<const RunReport> runs) {
  Plot plot{.title = "TTFT by when the request was wanted",
            .x_label = "seconds since the start",
            .y_label = "ms",
            .series = {}};
  for (const auto& run : runs) {
    Series series{name_of(run), {}, true};
    for (const auto& record : run.records) {
      if (!record.completed()) continue;
      series.points.emplace_back(seconds(record.scheduled), ttft_ms(record));
    }
    plot.series.push_back(std::move(series));
  }
  return svg_of(plot);
}

std::string tokens_over_time(std::span<const RunReport> runs) {
  Plot plot{.title = "Output tokens in each second",
            .x_label = "seconds since the start",
            .y_label = "tokens/s",
            .series = {}};
  for (const auto& run : runs) {
    std::map<std::int64_t, double> tokens;
    for (const auto& record : run.records) {
      if (record.pieces == 0) continue;
      const double each = static_cast<double>(record.completion_tokens) / record.pieces;
      Instant at = record.first_token;
      tokens[at / std::chrono::seconds(1)] += each;
      for (const Duration gap : record.gaps) tokens[(at += gap) / std::chrono::seconds(1)] += each;
    }
    Series series{name_of(run), {}, false, true};
    if (!tokens.empty()) {
      for (std::int64_t second = 0; second <= tokens.rbegin()->first; ++second) {
        series.points.emplace_back(static_cast<double>(second), tokens[second]);
      }
    }
    plot.series.push_back(std::move(series));
  }
  return svg_of(plot);
}

std::string running_over_time(std::span<const RunReport> runs) {
  Plot plot{.title = "Requests under way",
            .x_label = "seconds since the start",
            .y_label = "requests",
            .series = {}};
  for (const auto& run : runs) {
    std::vector<std::pair<Instant, int>> changes;
    for (const auto& record : run.records) {
      if (record.outcome == Outcome::kUnsent) continue;
      changes.emplace_back(record.scheduled, 1);
      changes.emplace_back(record.done, -1);
    }
    std::ranges::sort(changes);
    Series series{name_of(run), {}, false, true};
    int now = 0;
    for (const auto& [at, change] : changes) {
      series.points.emplace_back(seconds(at), now += change);
    }
    plot.series.push_back(std::move(series));
  }
  return svg_of(plot);
}

/// One point a rate; only where rates were offered and an objective given.
std::string attainment_over_rate(std::span<const RunReport> runs) {
  Plot plot{.title = "Attainment over offered rate",
            .x_label = "requests/s offered",
            .y_label = "share that meets the objective",
            .series = {},
            .y_to = kWholeShare};
  Series series{"attainment", {}};
  for (const auto& run : runs) {
    if (run.facts.request_rate > 0 && !run.slo.empty()) {
      series.points.emplace_back(run.facts.request_rate, run.all.attainment);
    }
  }
  if (series.points.size() < 2) return "";
  std::ranges::sort(series.points);
  plot.title += " (" + runs.front().slo.text() + ")";
  plot.series.push_back(std::move(series));
  return svg_of(plot);
}

std::string table(std::span<const RunReport> runs) {
  std::string out =
      "<div class=\"wide\"><table><tr><th>load</th><th>completed</th><th>requests/s</th>"
      "<th>output tok/s</th><th>TTFT p50</th><th>p90</th><th>p99</th><th>TPOT p50</th><th>p90</th>"
      "<th>p99</th><th>ITL p99</th><th>longest stall</th><th>E2E p50</th><th>p99</th>"
      "<th>good</th><th>goodput</th><th>client CPU</th></tr>\n";
  for (const auto& run : runs) {
    const Figures& f = run.all;
    out += fmt::format(
        "<tr><td>{}</td><td>{} of "
        "{}</td><td>{:.3g}</td><td>{:.1f}</td><td>{:.1f}</td><td>{:.1f}</td>"
        "<td>{:.1f}</td><td>{:.2f}</td><td>{:.2f}</td><td>{:.2f}</td><td>{:.1f}</td><td>{:.1f}</td>"
        "<td>{:.0f}</td><td>{:.0f}</td><td>{:.1f} %</td><td>{:.3g}/s</td><td>{:.1f} %</td></tr>\n",
        name_of(run), f.completed, f.offered, f.request_throughput, f.output_throughput, f.ttft.p50,
        f.ttft.p90, f.ttft.p99, f.tpot.p50, f.tpot.p90, f.tpot.p99, f.itl.p99, f.stall.most,
        f.e2el.p50, f.e2el.p99, 100 * f.attainment, f.request_goodput,
        run.facts.wall_s > 0 ? 100 * run.facts.client_cpu_s / run.facts.wall_s : 0);
  }
  return out + "</table></div>\n";
}

}  // namespace

std::string html_report(std::span<const RunReport> runs) {
  WEIR_CHECK(!runs.empty(), "a report is of at least one run");
  const RunFacts& facts = runs.front().facts;
  std::string out = fmt::format(
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{0} - weir bench</title><style>{1}</style>\n"
      "<h1>{0}</h1><p>{2} &middot; {3} &middot; {4} &middot; times in milliseconds, from when each "
      "request was wanted</p>\n",
      html_escaped(facts.model), kStyle, html_escaped(facts.label), html_escaped(facts.workload),
      html_escaped(facts.date));
  out += table(runs) + "<div class=\"plots\">\n";
  out += attainment_over_rate(runs);
  out += distribution(runs, "TTFT", [](const auto& r) { return std::optional(ttft_ms(r)); });
  out += distribution(runs, "TPOT", [](const auto& r) { return tpot_ms(r); });
  out += distribution(runs, "E2E", [](const auto& r) { return std::optional(e2el_ms(r)); });
  out +=
      distribution(runs, "Longest stall", [](const auto& r) { return std::optional(stall_ms(r)); });
  out += first_tokens_over_time(runs);
  out += tokens_over_time(runs);
  out += running_over_time(runs);
  return out + "</div></html>\n";
}

}  // namespace weir::measure
