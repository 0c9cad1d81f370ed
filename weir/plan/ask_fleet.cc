#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"
#include "weir/plan/batching.h"
#include "weir/plan/queueing.h"
#include "weir/policy/two_choices.h"

namespace weir::plan {
namespace {

struct Pool {
  double replicas, each;
};

/// "10x1000,20x600": replicas times requests a second.
Result<std::vector<Pool>> read_pools(const Arguments& a) {
  std::vector<Pool> pools;
  for (const auto& [name, each] : a.pairs("pools")) {
    const auto n = parse_amount(name, Unit::kCount);
    if (!n || !(*n >= 1) || *n > kMostServers || *n != std::floor(*n))
      return contradiction(
          fmt::format("needs REPLICAS=RATE pairs, as in 10=1000,20=600, but holds '{}'", name),
          "pools");
    pools.push_back({*n, each});
  }
  return pools;
}

/// A fleet of unequal replicas: dealt out by capacity everybody is equally busy, dealt out evenly
/// the weak are not.
void add_pools(const std::vector<Pool>& pools, Rate arrivals, Answer& out) {
  double replicas = 0, capacity = 0;
  for (const Pool& p : pools) replicas += p.replicas, capacity += p.replicas * p.each;
  out.step("fleet_capacity", "the fleet can serve", "sum of replicas x rate",
           rate(per_second(capacity), ""), "weighted routing");
  out.step("fleet_utilisation", "utilisation when dealt out by capacity",
           fmt::format("{} / {}", show_number(arrivals.value), show_number(capacity)),
           share(arrivals.value / capacity), "weighted routing");
  Table table{.title = "Unequal replicas",
              .columns = {"replicas", "each serves", "weight", "weighted load", "weighted use",
                          "even load", "even use"},
              .rows = {}};
  double worst = 0;
  for (const Pool& p : pools) {
    const double weight = policy::capacity_weight(p.each, capacity);
    const double even = arrivals.value / replicas;
    worst = std::max(worst, even / p.each);
    table.rows.push_back({count(p.replicas, ""), rate(per_second(p.each), ""), share(weight),
                          rate(per_second(weight * arrivals.value), ""),
                          share(weight * arrivals.value / p.each), rate(per_second(even), ""),
                          share(even / p.each)});
  }
  out.step("even_worst", "busiest replica when dealt out evenly", "rate / replicas / its own rate",
           share(worst), "weighted routing");
  out.tables.push_back(std::move(table));
}

struct Sizing {
  double by_throughput = 0, by_slo = 0, by_wait = 0;
};

/// Replicas over the arrival rate, and how the wait explodes near saturation.
void add_chart(Rate one, double cv, double replicas, Answer& out) {
  Chart chart{.title = fmt::format("Waiting against load, {} replicas", show_number(replicas)),
              .x = {"utilisation", false},
              .y = {"mean wait / service time", false},
              .series = {},
              .marks = {}};
  Series shared{.name = "one shared queue", .points = {}};
  Series apart{.name = "a queue each", .points = {}};
  for (double rho = 0.02; rho < 0.985; rho += 0.01) {
    const Rate arrivals = one * (rho * replicas);
    const double together = mmc_wait(std::min(replicas, kMostServers), arrivals, 1 / one, cv) * one;
    const double alone = mmc_wait(1, one * rho, 1 / one, cv) * one;
    if (together < 5) shared.points.emplace_back(rho, together);
    if (alone < 5) apart.points.emplace_back(rho, alone);
  }
  chart.series = {std::move(shared), std::move(apart)};
  chart.marks = {{"aim: 70 %", 0.7, true}};
  out.charts.push_back(std::move(chart));
}

Result<Answer> ask_fleet(const Arguments& a) {
  Answer out;
  out.question = "fleet";
  const Rate average = a.rate("rate");
  const Rate arrivals = average * a.number("peak");
  if (a.given("peak"))
    out.step("peak_rate", "arrivals at the peak",
             fmt::format("{} x {}", show(rate(average, "")), show_number(a.number("peak"))),
             rate(arrivals, "requests"), "peak, not mean");
  if (a.has("pools")) {
    WEIR_TRY(const std::vector<Pool> pools, read_pools(a));
    add_pools(pools, arrivals, out);
    out.headline = fmt::format(
        "Dealt out by capacity the whole fleet is {} busy; dealt out evenly its weakest replicas "
        "are {} busy.",
        show(share(out.at("fleet_utilisation"))), show(share(out.at("even_worst"))));
    Chart chart{.title = "How busy each kind of replica is",
                .x = {"arrivals, requests/s", false},
                .y = {"utilisation of the weakest", false},
                .series = {},
                .marks = {{"now", arrivals.value, true}, {"full", 1, false}}};
    const double capacity = out.at("fleet_capacity");
    const double worst = out.at("even_worst") / arrivals.value;
    chart.series = {{.name = "by capacity", .points = {{0, 0}, {capacity, 1}}},
                    {.name = "evenly", .points = {{0, 0}, {1 / worst, 1}}}};
    out.charts.push_back(std::move(chart));
    return out;
  }
  const double batch = a.number("batch");
  const Seconds service = a.seconds("service");
  const Seconds slo = a.seconds("slo");
  const double cv = a.number("cv");
  const Rate one = batch / service;
  out.step("replica_rate", "one replica serves", fmt::format("{} / {}", batch, show(service)),
           rate(one, "requests"), "X = B / T(B)");
  const double inside = in_system(arrivals, slo);
  out.step("in_flight", "requests in flight within the SLO",
           fmt::format("{} x {}", show(rate(arrivals, "")), show(slo)), count(inside, "requests"),
           "Little: L = lambda W");
  out.step("in_service", "of them in service",
           fmt::format("{} x {}", show(rate(arrivals, "")), show(service)),
           count(in_system(arrivals, service), "requests"), "Little");
  Sizing n;
  n.by_throughput = std::ceil(arrivals / one * (1 - 1e-12));
  n.by_slo = std::ceil(inside / batch * (1 - 1e-12));
  out.step("by_throughput", "replicas by throughput",
           fmt::format("ceil({} / {})", show_number(arrivals.value), show_number(one.value)),
           count(n.by_throughput, "replicas"), "throughput");
  out.step("by_slo", "replicas by SLO",
           fmt::format("ceil({} / {})", show_number(inside), show_number(batch)),
           count(n.by_slo, "replicas"), "Little: a slot for each");
  const double utilisation = a.number("utilisation");
  const double by_headroom = std::ceil(arrivals / (one * utilisation) * (1 - 1e-12));
  out.step("by_headroom", fmt::format("replicas at {} busy", show(share(utilisation))),
           fmt::format("ceil({} / ({} x {}))", show_number(arrivals.value), show_number(one.value),
                       utilisation),
           count(by_headroom, "replicas"), "headroom");
  if (n.by_slo > kMostServers || by_headroom > kMostServers)
    return contradiction(
        "this takes more than a million replicas: check the units of --rate and --service", "rate");
  if (slo > service) {
    n.by_wait = servers_for_wait(arrivals, 1 / one, slo - service, a.number("quantile"), cv);
    out.step("by_wait",
             fmt::format("replicas so that {} wait at most {}", show(share(a.number("quantile"))),
                         show(slo - service)),
             "Erlang C over replicas as servers", count(n.by_wait, "replicas"), "M/M/c");
  } else {
    out.note(
        "The SLO is not longer than the service itself, so no wait fits in it: only a smaller "
        "batch or a faster machine helps.");
  }
  const double wanted = std::max({n.by_slo, n.by_throughput, n.by_wait});
  out.step("replicas", "replicas, the largest of throughput, SLO and wait", "",
           count(wanted, "replicas"), "largest of all signals");
  const double load = arrivals / (one * n.by_slo);
  out.step("utilisation", "utilisation of the fleet sized by SLO",
           fmt::format("{} / ({} x {})", show_number(arrivals.value), show_number(n.by_slo),
                       show_number(one.value)),
           share(load), "rho");
  out.step("md1_wait", "wait behind one replica's own queue",
           "rho s / (2 (1 - rho)) at that utilisation", md1_wait(one * load, 1 / one), "M/D/1");
  out.step("mmc_wait", "mean wait in one shared queue",
           "C(c, a) / (c mu - lambda) x (1 + cv^2) / 2", mmc_wait(n.by_slo, arrivals, 1 / one, cv),
           "M/M/c");
  const double reserve = a.number("reserve");
  out.step("with_reserve", "with reserve for failures",
           fmt::format("{} + {}", show_number(wanted), reserve),
           count(wanted + reserve, "replicas"), "N+1");
  out.headline = fmt::format(
      "{} by throughput, {} by SLO (then {} busy): plan {}.",
      show(count(n.by_throughput, "replicas")), show_number(n.by_slo), show(share(load)),
      show(count(wanted + reserve, "replicas")) + (reserve > 0 ? " with reserve" : ""));
  if (n.by_throughput * one.value <= arrivals.value * (1 + 1e-9))
    out.note(
        "At exactly the replicas by throughput the fleet runs at 100 % and its queue grows without "
        "bound.");
  Table table{.title = "What each size gives",
              .columns = {"replicas", "utilisation", "mean wait",
                          fmt::format("{} wait", show(share(a.number("quantile")))), "with service",
                          "holds the SLO"},
              .rows = {}};
  const double first = std::max(1.0, n.by_throughput);
  for (double c = first; c <= std::min(first + 9, kMostServers); ++c) {
    const Seconds tail = mmc_wait_quantile(c, arrivals, 1 / one, a.number("quantile"), cv);
    table.rows.push_back({count(c, ""), share(arrivals / (one * c)),
                          mmc_wait(c, arrivals, 1 / one, cv), tail, tail + service,
                          std::string(tail + service <= slo ? "yes" : "no")});
  }
  out.tables.push_back(std::move(table));
  add_chart(one, cv, n.by_slo, out);
  return out;
}

}  // namespace

Question fleet_question() {
  return {
      .name = "fleet",
      .summary =
          "How many replicas: by throughput, by SLO, by waiting time, with headroom; unequal "
          "replicas too",
      .parameters =
          {needed(bounded(amount("rate", Unit::kRate, "", "Requests a second"), 1e-6, 1e12)),
           bounded(amount("peak", Unit::kFactor, "1",
                          "The peak over that rate; capacity is for the peak, not the mean"),
                   1, 1000),
           whole("batch", "8", 1, 1e6, "Requests one replica serves together"),
           bounded(amount("service", Unit::kSeconds, "80ms", "Time of one such batch"), 1e-6, 1e6),
           bounded(amount("slo", Unit::kSeconds, "100ms", "Longest time of a request"), 1e-6, 1e6),
           bounded(amount("cv", Unit::kNone, "1",
                          "Variation of the service time: 0 fixed, 1 exponential"),
                   0, 100),
           bounded(amount("quantile", Unit::kFraction, "0.99",
                          "Share of requests that must hold the SLO"),
                   0.5, 0.9999999),
           bounded(amount("utilisation", Unit::kFraction, "0.7", "How busy replicas should be"),
                   0.05, 1),
           whole("reserve", "0", 0, 1e5, "Replicas that may fail"),
           bounded(pairs("pools", Unit::kRate, "", "Unequal replicas: COUNT=RATE pairs"), 1e-6,
                   1e12)},
      .examples = {"fleet --rate 1000 --batch 8 --service 80ms --slo 100ms",
                   "fleet --rate 15000 --pools 10=1000,20=600",
                   "fleet --rate 50/s --peak 3 --service 2s --slo 5s --batch 16 --reserve 1"},
      .ask = ask_fleet};
}

}  // namespace weir::plan
