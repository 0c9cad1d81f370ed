#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"

namespace weir::plan {
namespace {

void add_round_trips(const Arguments& a, Answer& out) {
  const Seconds serve = a.seconds("serve");
  Table table{.title = "Where people are",
              .columns = {"from", "distant region", "nearby region", "saved", "answer, distant",
                          "answer, nearby"},
              .rows = {}};
  std::vector<const RoundTrip*> order;
  for (const auto& [name, rtt] : a.registry().round_trips) order.push_back(&rtt);
  std::ranges::sort(order, {}, [](const RoundTrip* r) { return r->distant.value; });
  Seconds worst{};
  for (const RoundTrip* r : order) {
    worst = std::max(worst, r->distant - r->local);
    table.rows.push_back({r->title, r->distant, r->local, r->distant - r->local, r->distant + serve,
                          r->local + serve});
  }
  out.tables.push_back(std::move(table));
  out.step("rtt_saved", "round trip saved for the farthest", "distant - nearby", worst, "failover");
}

/// A region down: what the others must hold in reserve.
void add_reserve(const Arguments& a, Answer& out) {
  const double n = a.number("regions");
  out.step("failover_load", "load of each other region when one is down",
           fmt::format("{} / ({} - 1)", n, n), factor(n / (n - 1)), "failover");
  out.step("failover_reserve", "reserve that takes", fmt::format("1 - ({} - 1) / {}", n, n),
           share(1 / n), "30 to 50 % is usual");
  out.step("failover_use", "so regions may be busy to at most",
           fmt::format("{} x ({} - 1) / {}", a.number("utilisation"), n, n),
           share(a.number("utilisation") * (n - 1) / n), "failover");
  out.step("failover_time", "time until a second region answers",
           "first time-out, then its own answer", a.seconds("timeout") + a.seconds("serve"),
           "time-outs of 2 s, then 5 s");
}

void add_prices(const Arguments& a, Answer& out) {
  Table table{.title = "What a device costs there",
              .columns = {"region", "device", "spot", "on demand", "over the cheapest, spot",
                          "over the cheapest, on demand"},
              .rows = {}};
  const Region* cheapest = nullptr;
  double spot = INFINITY, on_demand = INFINITY, spot_high = 0, on_demand_high = 0;
  for (const auto& [name, r] : a.registry().regions) {
    if (cheapest == nullptr || r.spot < cheapest->spot) cheapest = &r;
    spot = std::min(spot, r.spot.value), on_demand = std::min(on_demand, r.on_demand.value);
    spot_high = std::max(spot_high, r.spot.value),
    on_demand_high = std::max(on_demand_high, r.on_demand.value);
  }
  for (const auto& [name, r] : a.registry().regions)
    table.rows.push_back({r.title, r.device, r.spot, r.on_demand, share(r.spot.value / spot - 1),
                          share(r.on_demand.value / on_demand - 1)});
  out.tables.push_back(std::move(table));
  if (cheapest == nullptr) return;
  out.step("spot_spread", "dearest over cheapest, spot", "", share(spot_high / spot - 1),
           "registry prices");
  out.step("on_demand_spread", "dearest over cheapest, on demand", "",
           share(on_demand_high / on_demand - 1), "registry prices");
  const double movable = a.number("batch-share");
  out.step("placement_saving",
           fmt::format("saved by placing the {} that can wait", show(share(movable))),
           "share x (1 - cheapest spot / dearest spot)", share(movable * (1 - spot / spot_high)),
           "cost-aware placement");
  out.step("night_saving", "saved by running it at night",
           fmt::format("{} x {}", movable, a.number("night-discount")),
           share(movable * a.number("night-discount")), "20 to 40 % is usual");
  out.headline = fmt::format("Interactive work stays near people; batch work goes to {} ({} spot).",
                             cheapest->title, show(cheapest->spot));
}

Result<Answer> ask_regions(const Arguments& a) {
  Answer out;
  out.question = "regions";
  add_round_trips(a, out);
  add_reserve(a, out);
  add_prices(a, out);
  out.headline += fmt::format(" A region may fail if each is at most {} busy.",
                              show(share(out.at("failover_use"))));
  const Seconds stage = a.seconds("stage");
  out.step("pipeline_loss", "pipeline stages across regions are slower by",
           fmt::format("{} / {}", show(a.seconds("hop")), show(stage)),
           factor(a.seconds("hop") / stage), "never split a model across regions");
  Chart chart{.title = "How busy regions may be so that one can fail",
              .x = {"regions", false},
              .y = {"utilisation, %", false},
              .series = {{.name = "at most", .points = {}}},
              .marks = {{"these", a.number("regions"), true}}};
  for (double n = 2; n <= std::max(8.0, std::min(a.number("regions"), 64.0)); ++n)
    chart.series[0].points.emplace_back(n, 100 * a.number("utilisation") * (n - 1) / n);
  out.charts.push_back(std::move(chart));
  out.note(
      "Rollouts: canary 1 % for 1 to 4 h, stop at errors over 0.1 % or P99 over target, then the "
      "next region only after a healthy window.");
  return out;
}

}  // namespace

Question regions_question() {
  return {
      .name = "regions",
      .summary =
          "Several regions: round trips, reserve for a failure, where work that can wait should "
          "run",
      .parameters =
          {whole("regions", "3", 2, 1000, "Regions that serve"),
           bounded(amount("utilisation", Unit::kFraction, "0.7",
                          "How busy a region may be when all is well with the others gone"),
                   0.01, 1),
           bounded(amount("serve", Unit::kSeconds, "500ms", "Time of an answer in a region"), 0,
                   1e4),
           bounded(amount("timeout", Unit::kSeconds, "2s", "When to try the next region"), 0, 1e4),
           bounded(amount("batch-share", Unit::kFraction, "0.3", "Share of the work that can wait"),
                   0, 1),
           bounded(amount("night-discount", Unit::kFraction, "0.3", "What running at night saves"),
                   0, 1),
           bounded(amount("hop", Unit::kSeconds, "100ms", "Round trip between regions"), 1e-6, 100),
           bounded(amount("stage", Unit::kSeconds, "2ms", "Time of a pipeline stage"), 1e-6, 100)},
      .examples = {"regions --regions 3", "regions --regions 4 --batch-share 50%"},
      .ask = ask_regions};
}

}  // namespace weir::plan
