#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"
#include "weir/plan/batching.h"
#include "weir/policy/adaptive_batch.h"

namespace weir::plan {
namespace {

/// The line T(B) = fixed + B each, from wherever the asker has it.
Result<BatchCost> cost_of(const Arguments& a, Answer& out) {
  if (a.has("fixed") || a.has("each")) {
    if (!a.has("fixed") || !a.has("each"))
      return contradiction("--fixed and --each go together", a.has("fixed") ? "each" : "fixed");
    return BatchCost{.fixed = a.seconds("fixed"), .each = a.seconds("each")};
  }
  if (a.has("measured")) {
    const auto& points = a.pairs("measured");
    if (points.size() != 2)
      return contradiction("needs two points, as in 1=5ms,32=25ms", "measured");
    double batch[2];
    for (int i = 0; i < 2; ++i) {
      WEIR_TRY(batch[i], parse_amount(points[static_cast<std::size_t>(i)].first, Unit::kCount));
    }
    if (!(batch[0] >= 1) || !(batch[1] > batch[0]))
      return contradiction("the batches must be at least 1 and rise", "measured");
    const BatchCost cost = line_through(batch[0], {points[0].second}, batch[1], {points[1].second});
    if (cost.each.value < 0 || cost.fixed.value < 0)
      return contradiction("a larger batch must take longer, and less than in proportion",
                           "measured");
    out.step("fit_each", "cost of one more",
             fmt::format("({} - {}) / ({} - {})", show(Seconds{points[1].second}),
                         show(Seconds{points[0].second}), batch[1], batch[0]),
             cost.each, "two measured points");
    out.step("fit_fixed", "fixed cost", "T(B1) - B1 x cost of one more", cost.fixed,
             "two measured points");
    return cost;
  }
  if (!a.has("model") || !a.has("device"))
    return contradiction(
        "give it with --each, or two points with --measured, or a --model on a --device", "fixed");
  const DecodeStep step{.model = a.model("model"),
                        .device = a.device("device"),
                        .devices = a.number("devices"),
                        .weights = precision(a.word("weights")),
                        .kv = precision(a.word("kv")),
                        .efficiency = a.number("efficiency")};
  const Bytes weights = active_weight_bytes(step.model, step.weights);
  const Bytes kv = kv_per_token(step.model, step.kv) * a.number("context");
  const Bandwidth bandwidth = step.device.bandwidth * step.devices;
  const OpRate rate = peak(step.device, step.weights) * (step.devices * step.efficiency);
  out.step("weights_read", "weights read a step",
           fmt::format("{} / {}", show(weights), show(bandwidth)), weights / bandwidth, "roofline");
  out.step("kv_read", "KV read for one sequence", fmt::format("{} / {}", show(kv), show(bandwidth)),
           kv / bandwidth, "roofline");
  out.step("ops_each", "operations of one row",
           fmt::format("2 x {} / {}", show(count(step.model.active, "")), show(rate)),
           ops_per_token(step.model) / rate, "roofline");
  const double bound = compute_bound_batch(weights, bandwidth, ops_per_token(step.model), rate);
  out.step("compute_bound", "decode turns compute-bound at", "(W / BW) x peak / (2 P)",
           count(std::ceil(bound), "rows"), "roofline");
  out.note(
      fmt::format("Below {} rows a decode step reads weights and computes for nothing more; above, "
                  "rows cost operations.",
                  show_number(std::ceil(bound))));
  if (step.model.experts > 0)
    out.note(
        "Mixture of experts: the weights read are those of one token's experts; a batch that "
        "touches more experts reads more.");
  return BatchCost{weights / bandwidth, kv / bandwidth, ops_per_token(step.model) / rate};
}

/// Lengths that end at different times: what static batching idles away and continuous saves.
void add_lengths(const std::vector<double>& lengths, Seconds step, Answer& out) {
  const double most = largest(lengths);
  const double average = mean(lengths);
  out.step("waste", "slots idle in a static batch",
           fmt::format("1 - {} / {}", show_number(average), show_number(most)),
           share(padding_waste(lengths)), "Orca 2022");
  out.step("static_time", "static: all end after",
           fmt::format("{} x {}", show_number(most), show(step)), step * most, "static batching");
  out.step("continuous_mean", "continuous: end after, on average",
           fmt::format("{} x {}", show_number(average), show(step)), step * average, "Orca 2022");
  double squares = 0;
  for (double length : lengths) squares += (length - average) * (length - average);
  const double cv = std::sqrt(squares / static_cast<double>(lengths.size())) / average;
  out.step("length_cv", "variation of the lengths", "standard deviation / mean", ratio(cv), "");
  out.step("continuous_gain", "slots used better by continuous batching", "max / mean",
           factor(most / average), "Orca 2022");
  out.note(
      fmt::format("One also finds the gain as 1 + CV^2 / 2 = {:.2f}; measured gains follow "
                  "1 / (1 - waste), which is used here.",
                  1 + cv * cv / 2));
  out.note(
      "Quoted, not worked out: vLLM with Llama-2-70B on 8 A100 makes 400 tokens/s static, 580 "
      "dynamic and 1200 continuous.");
  Table table{.title = "When each sequence ends",
              .columns = {"tokens", "static", "continuous"},
              .rows = {}};
  for (double length : lengths)
    table.rows.push_back({count(length, "tokens"), step * most, step * length});
  out.tables.push_back(std::move(table));
}

void add_arrivals(const BatchCost& cost, Rate arrivals, double best, Answer& out) {
  const BatchQueue alone = batch_queue(cost, 1, arrivals);
  out.step("unbatched_load", "utilisation without batching",
           fmt::format("{} x {}", show(rate(arrivals, "")), show(alone.service)),
           ratio(alone.utilisation), "rho = lambda T(1)");
  const double stable = std::max(1.0, batch_for_utilisation(cost, arrivals, 1));
  const double calm = std::max(1.0, batch_for_utilisation(cost, arrivals, 0.75));
  out.step("stable_batch", "smallest batch that keeps up", "lambda T_fixed / (1 - lambda T_var)",
           count(stable, "items"), "rho below 1");
  out.step("calm_batch", "batch for a utilisation of 75 %",
           "lambda T_fixed / (0.75 - lambda T_var)", count(calm, "items"), "rho below 1");
  if (best >= 1) {
    const Seconds window =
        in_seconds(seconds(policy::batch_window(best, arrivals.value, std::chrono::hours(1))));
    out.step("window", "time to gather the chosen batch",
             fmt::format("{} / {}", best, show(rate(arrivals, ""))), window,
             "policy/adaptive_batch.h");
  }
  Table table{.title = "Served in batches of B",
              .columns = {"B", "T(B)", "rate", "utilisation", "gather", "wait", "mean time", "P99"},
              .rows = {}};
  for (double b : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0}) {
    const BatchQueue q = batch_queue(cost, b, arrivals);
    // The tail of a near-exponential time: P99 = ln 100 times the mean of what varies.
    const Seconds tail = q.gather + q.service + q.wait * 4.6;
    table.rows.push_back({count(b, ""), q.service, rate(batch_rate(cost, b), ""),
                          share(q.utilisation), q.gather, q.wait, q.total(), tail});
  }
  out.tables.push_back(std::move(table));
}

void add_curve(const BatchCost& cost, double most, double best, const Arguments& a, Answer& out) {
  Table table{
      .title = "Batching curve", .columns = {"B", "T(B)", "X(B)", "of the ceiling"}, .rows = {}};
  Chart chart{.title = "What batching buys, and what it costs",
              .x = {"batch", true},
              .y = {"share of the ceiling, and T(B) / SLO", false},
              .series = {},
              .marks = {}};
  Series gain{.name = "throughput", .points = {}};
  Series wait{.name = a.has("slo") ? "latency / SLO" : "latency / T(max)", .points = {}};
  const Seconds variable = cost.each + cost.hidden;
  const double ceiling = variable.value > 0 ? 1 / variable.value : batch_rate(cost, most).value;
  const double scale = a.has("slo") ? a.number("slo") : batch_time(cost, most).value;
  for (double b : doublings(1, most)) {
    table.rows.push_back({count(b, ""), batch_time(cost, b), rate(batch_rate(cost, b), ""),
                          share(batch_rate(cost, b).value / ceiling)});
  }
  constexpr int kSteps = 96;
  for (int i = 0; i <= kSteps; ++i) {
    const double b = std::pow(most, static_cast<double>(i) / kSteps);
    gain.points.emplace_back(b, batch_rate(cost, b).value / ceiling);
    if (batch_time(cost, b).value / scale <= 1.3)
      wait.points.emplace_back(b, batch_time(cost, b).value / scale);
  }
  chart.series = {std::move(gain), std::move(wait)};
  if (variable.value > 0)
    chart.marks.push_back({fmt::format("knee: {}", show_number(knee(cost))), knee(cost), true});
  if (cost.hidden.value > 0) {
    const double bound = std::ceil(cost.fixed / cost.hidden);
    chart.marks.push_back({fmt::format("compute binds: {}", show_number(bound)), bound, true});
  }
  if (a.has("slo") && best >= 1)
    chart.marks.push_back(
        {fmt::format("SLO {}: {}", show(a.seconds("slo")), show_number(best)), best, true});
  out.tables.push_back(std::move(table));
  out.charts.push_back(std::move(chart));
}

Result<Answer> ask_batch(const Arguments& a) {
  Answer out;
  out.question = "batch";
  if (a.has("lengths")) add_lengths(a.numbers("lengths"), a.seconds("step"), out);
  const bool only_lengths = a.has("lengths") && !a.has("fixed") && !a.has("each") &&
                            !a.has("measured") && !a.has("model");
  if (only_lengths) {
    out.headline = fmt::format(
        "A static batch idles {} of its slots; continuous batching ends them after {} on average "
        "instead of {}.",
        show(share(out.at("waste"))), show(Seconds{out.at("continuous_mean")}),
        show(Seconds{out.at("static_time")}));
    Chart chart{.title = "When sequences end",
                .x = {"time, s", false},
                .y = {"sequences that ended", false},
                .series = {},
                .marks = {}};
    auto sorted = a.numbers("lengths");
    std::ranges::sort(sorted);
    Series continuous{.name = "continuous", .points = {{0, 0}}};
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      continuous.points.emplace_back(sorted[i] * a.number("step"), static_cast<double>(i));
      continuous.points.emplace_back(sorted[i] * a.number("step"), static_cast<double>(i + 1));
    }
    const double end = sorted.back() * a.number("step");
    chart.series = {continuous,
                    {.name = "static",
                     .points = {{0, 0}, {end, 0}, {end, static_cast<double>(sorted.size())}}}};
    out.charts.push_back(std::move(chart));
    return out;
  }
  WEIR_TRY(const BatchCost cost, cost_of(a, out));
  const double most = a.number("most");
  out.step("fixed", "fixed cost of a batch", "", cost.fixed, "linear batch cost");
  out.step("each", "cost of one more item", "", cost.each, "linear batch cost");
  if (cost.hidden.value > 0) {
    out.step("hidden", "operations of one more, hidden until they exceed the fixed cost", "",
             cost.hidden, "roofline");
  }
  const bool roofline = cost.hidden.value > 0;
  out.headline =
      fmt::format("T(B) = {} + B x {}.",
                  roofline ? fmt::format("max({}, B x {})", show(cost.fixed), show(cost.hidden))
                           : show(cost.fixed),
                  show(cost.each));
  if ((cost.each + cost.hidden).value > 0) {
    out.step("knee", "knee", roofline ? "T_fixed / (KV + operations of one)" : "T_fixed / T_var",
             count(knee(cost), "items"), "linear batch cost");
    out.headline +=
        fmt::format(" The knee is at B = {}: past it throughput grows slower than waiting.",
                    show_number(knee(cost)));
  }
  double best = 0;
  if (a.has("slo")) {
    best = largest_within(cost, a.seconds("slo"), most);
    out.step("largest", "largest batch within the SLO",
             fmt::format("({} - T_fixed) / T_var", show(a.seconds("slo"))), count(best, "items"),
             "linear batch cost");
    if (best < 1) {
      out.headline += fmt::format(" The SLO of {} is out of reach: one item alone takes {}.",
                                  show(a.seconds("slo")), show(batch_time(cost, 1)));
    } else {
      out.step("rate_there", "throughput there", "B / T(B)", rate(batch_rate(cost, best), "items"),
               "linear batch cost");
      out.headline +=
          fmt::format(" Within {} the largest batch is {}, at {}.", show(a.seconds("slo")),
                      show_number(best), show(rate(batch_rate(cost, best), "items")));
    }
  }
  if (a.has("arrivals"))
    add_arrivals(cost, a.rate("arrivals"), best >= 1 ? best : std::min(most, std::ceil(knee(cost))),
                 out);
  add_curve(cost, most, best, a, out);
  return out;
}

}  // namespace

Question batch_question() {
  return {
      .name = "batch",
      .summary =
          "How much to batch: the knee, the largest batch within an SLO, where compute binds, what "
          "waiting costs",
      .parameters =
          {bounded(amount("fixed", Unit::kSeconds, "", "Fixed cost of a batch"), 0, 1e5),
           bounded(amount("each", Unit::kSeconds, "", "Cost of one more item"), 0, 1e5),
           bounded(
               pairs("measured", Unit::kSeconds, "", "Two measured batches instead: 1=5ms,32=25ms"),
               1e-9, 1e5),
           model("model", "", "Or a model, whose decode step is worked out"),
           device("device", "", "... on this device"),
           whole("devices", "1", 1, 1e6, "How many devices share it"),
           precision_choice("weights", "fp16", "How weights are kept"),
           precision_choice("kv", "fp16", "How keys and values are kept"),
           whole("context", "2048", 1, 1e9, "Tokens of a sequence, on average"),
           bounded(amount("efficiency", Unit::kFraction, "0.5",
                          "Share of the peak operations that is reached"),
                   0.001, 1),
           bounded(amount("slo", Unit::kSeconds, "", "Longest time of a batch or step"), 1e-6, 1e5),
           bounded(amount("arrivals", Unit::kRate, "", "Requests a second, to see the queue"), 1e-6,
                   1e12),
           whole("most", "256", 1, 1e6, "Largest batch considered"),
           bounded(amounts("lengths", Unit::kCount, "",
                           "Answer lengths of one batch, to see what waits for the longest"),
                   1, 1e9),
           bounded(amount("step", Unit::kSeconds, "20ms", "Time of one decode step, for --lengths"),
                   1e-6, 1e3)},
      .examples = {"batch --fixed 40ms --each 0.5ms --slo 100ms",
                   "batch --measured 1=5ms,32=25ms --arrivals 500",
                   "batch --model llama-3-8b --device h100 --slo 20ms",
                   "batch --lengths 50,200,100,150 --step 20ms"},
      .ask = ask_batch};
}

}  // namespace weir::plan
