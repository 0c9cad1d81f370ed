#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"
#include "weir/policy/hysteresis.h"
#include "weir/policy/warm_pool.h"

namespace weir::plan {
namespace {

/// Clocks as people write them: 5.5 is "05:30".
std::string clock_text(double hour) {
  hour = std::fmod(hour + 24, 24);
  const auto minutes = static_cast<int>(std::lround(hour * 60)) % 1440;
  return fmt::format("{:02}:{:02}", minutes / 60, minutes % 60);
}

Seconds add_cold_start(const Arguments& a, Answer& out) {
  Table table{
      .title = "A cold start", .columns = {"step", "time", "since the decision"}, .rows = {}};
  Seconds sum{};
  for (const auto& [name, time] : a.pairs("cold-start")) {
    sum += Seconds{time};
    table.rows.push_back({name, Seconds{time}, sum});
  }
  out.tables.push_back(std::move(table));
  out.step("cold_start", "cold start", "sum of its steps", sum, "cold start");
  out.step("response", "from load to capacity",
           fmt::format("{} to detect + {} to decide + cold start", show(a.seconds("detect")),
                       show(a.seconds("decide"))),
           a.seconds("detect") + a.seconds("decide") + sum, "T_detect + T_decide + T_start");
  if (a.has("weights")) {
    const Bytes w = a.bytes("weights");
    Table loads{
        .title = "Loading the weights", .columns = {"from", "bandwidth", "time"}, .rows = {}};
    for (const auto& [name, tier] : a.registry().memories) {
      if (name != "hbm")
        loads.rows.push_back({tier.title, tier.bandwidth, tier.latency + w / tier.bandwidth});
    }
    out.tables.push_back(std::move(loads));
  }
  return sum;
}

/// "0=500,6=1500,...": the load from an hour on. Replicas by prediction, and what a reactive scaler
/// peaks at.
Status add_day(const Arguments& a, Seconds cold, Answer& out) {
  const double each = a.number("replica-rate");
  struct Period {
    double from, rate;
    double replicas;
  };
  std::vector<Period> day;
  for (const auto& [hour, rate_value] : a.pairs("day")) {
    const auto from = parse_amount(hour, Unit::kCount);
    if (!from || *from < 0 || *from >= 24 || (!day.empty() && *from <= day.back().from))
      return contradiction(
          fmt::format("needs rising hours from 0 to 23 as in 0=500,6=1500, but holds '{}'", hour),
          "day");
    day.push_back({*from, rate_value, std::ceil(rate_value / each * (1 - 1e-12))});
  }
  Table table{.title = "A day",
              .columns = {"from", "arrivals", "replicas", "start at", "change"},
              .rows = {}};
  Chart chart{.title = "Predicted replicas over a day",
              .x = {"hour", false},
              .y = {"replicas", false},
              .series = {{.name = "predicted", .points = {}}},
              .marks = {}};
  double predicted = 0, hours_used = 0;
  const double lead = std::max(a.number("lead"), cold.value) / 3600;
  for (std::size_t i = 0; i < day.size(); ++i) {
    const double before = day[(i + day.size() - 1) % day.size()].replicas;
    const double until = i + 1 < day.size() ? day[i + 1].from : 24;
    predicted = std::max(predicted, day[i].replicas);
    hours_used += day[i].replicas * (until - day[i].from);
    const double change = day[i].replicas - before;
    table.rows.push_back({clock_text(day[i].from), rate(per_second(day[i].rate), ""),
                          count(day[i].replicas, ""),
                          change > 0 ? clock_text(day[i].from - lead) : clock_text(day[i].from),
                          (change > 0 ? "+" : "") + show_number(change)});
    chart.series[0].points.emplace_back(day[i].from, day[i].replicas);
    chart.series[0].points.emplace_back(until, day[i].replicas);
  }
  const double reactive = std::ceil(predicted * a.number("overshoot") * (1 - 1e-12));
  out.step("predicted_peak", "replicas at the peak, predicted",
           fmt::format("ceil(rate / {})", show_number(each)), count(predicted, "replicas"),
           "cold start");
  out.step(
      "reactive_peak", "replicas at the peak, reactive",
      fmt::format("{} x {}: it cannot know when a rise ends", predicted, a.number("overshoot")),
      count(reactive, "replicas"), "cold start");
  out.step("predicted_saving", "saved by predicting",
           fmt::format("1 - {} / {}", predicted, reactive), share(1 - predicted / reactive),
           "cold start");
  out.step("day_saving", "saved against standing at the peak all day",
           "1 - replica hours / (24 x peak)", share(1 - hours_used / (24 * predicted)),
           "cold start");
  chart.marks.push_back({"reactive peak", reactive, false});
  out.tables.push_back(std::move(table));
  out.charts.push_back(std::move(chart));
  return {};
}

void add_spike(const Arguments& a, Answer& out) {
  const double now = a.number("replicas"), load = a.number("utilisation"),
               times = a.number("spike");
  out.step("spike_load", "load of what runs, in the spike",
           fmt::format("{} x {}", show(share(load)), times), share(load * times),
           "policy/hysteresis.h");
  const auto wanted =
      policy::proportional_replicas(static_cast<std::uint32_t>(now), load * times, load);
  out.step("spike_replicas", "replicas it takes",
           fmt::format("ceil({} x {} / {})", now, show(share(load * times)), show(share(load))),
           count(wanted, "replicas"), "policy/hysteresis.h");
  out.step("spike_more", "of them warm beforehand", "",
           count(std::max(0.0, wanted - now), "replicas"), "policy/warm_pool.h");
}

Result<Answer> ask_scale(const Arguments& a) {
  Answer out;
  out.question = "scale";
  const policy::WarmPool pool{.burst_rate = a.number("burst"),
                              .rate_per_replica = a.number("replica-rate"),
                              .safety = a.number("safety")};
  const double warm = policy::warm_replicas(pool);
  out.step("warm", "warm replicas",
           fmt::format("ceil({} / {} x {})", show_number(pool.burst_rate),
                       show_number(pool.rate_per_replica), pool.safety),
           count(warm, "replicas"), "policy/warm_pool.h");
  const Seconds cold = add_cold_start(a, out);
  add_spike(a, out);
  const double spot = a.number("spot");
  const double low = spot * a.number("discount-low"), high = spot * a.number("discount-high");
  out.step("spot_low", "saved by spot machines, at least",
           fmt::format("{} x {}", spot, a.number("discount-low")), share(low), "spot mix");
  out.step("spot_high", "saved by spot machines, at most",
           fmt::format("{} x {}", spot, a.number("discount-high")), share(high), "spot mix");
  out.step("drain_left", "left of a spot machine's notice after draining",
           fmt::format("{} - {}", show(a.seconds("notice")), show(a.seconds("drain"))),
           a.seconds("notice") - a.seconds("drain"), "spot mix");
  if (a.has("day")) {
    WEIR_TRY_STATUS(add_day(a, cold, out));
  } else {
    Chart chart{.title = "A spike while new replicas start",
                .x = {"minutes", false},
                .y = {"load of what serves, %", false},
                .series = {},
                .marks = {{"full", 100, false}}};
    const double load = 100 * a.number("utilisation"),
                 minutes = (a.seconds("detect") + a.seconds("decide") + cold).value / 60;
    chart.series = {{.name = "no warm pool",
                     .points = {{0, load},
                                {1, load},
                                {1, load * a.number("spike")},
                                {1 + minutes, load * a.number("spike")},
                                {1 + minutes, load},
                                {3 + minutes, load}}},
                    {.name = "warm pool",
                     .points = {{0, load},
                                {1, load},
                                {1, load * a.number("spike")},
                                {1.5, load * a.number("spike")},
                                {1.5, load},
                                {3 + minutes, load}}}};
    out.charts.push_back(std::move(chart));
  }
  Table tiers{.title = "Pools", .columns = {"pool", "ready in", "costs of a replica"}, .rows = {}};
  tiers.rows = {{std::string("hot"), std::string("at once"), share(1)},
                {std::string("warm"), Seconds{30}, share(0.6)},
                {std::string("cold"), cold, share(0)}};
  out.tables.push_back(std::move(tiers));
  out.headline = fmt::format("Keep {} for a burst of {}: a cold start takes {}.",
                             show(count(warm, "warm replicas")),
                             show(rate(per_second(pool.burst_rate), "")), show(cold));
  if (a.has("day"))
    out.headline +=
        fmt::format(" Predicting the day peaks at {} replicas instead of {}.",
                    show_number(out.at("predicted_peak")), show_number(out.at("reactive_peak")));
  out.note(
      "Critical traffic never runs on spot machines. Up at once, down after the low window, with "
      "N+1 (policy/hysteresis.h).");
  return out;
}

}  // namespace

Question scale_question() {
  return {
      .name = "scale",
      .summary =
          "How to follow the load: warm pools, cold starts, a predicted day, spikes, spot machines",
      .parameters =
          {bounded(amount("burst", Unit::kRate, "2000", "Requests a second above what serves now"),
                   0, 1e12),
           bounded(amount("replica-rate", Unit::kRate, "1000", "What one replica serves"), 1e-6,
                   1e12),
           bounded(amount("safety", Unit::kFactor, "1.5", "Safety over the largest burst"), 1, 100),
           bounded(pairs("cold-start", Unit::kSeconds,
                         "api=5s,provision=60s,container=10s,fetch=300s,load=25s,warm-up=15s,"
                         "readiness=5s",
                         "Steps of a cold start (default: a 70B model from an object store)"),
                   0, 1e6),
           bounded(amount("weights", Unit::kBytes, "", "Bytes to load, to compare where from"), 1,
                   1e17),
           bounded(amount("detect", Unit::kSeconds, "30s", "Time to notice"), 0, 1e5),
           bounded(amount("decide", Unit::kSeconds, "5s", "Time to decide"), 0, 1e5),
           whole("replicas", "10", 1, 1e6, "Replicas that serve now"),
           bounded(amount("utilisation", Unit::kFraction, "0.7", "How busy they are"), 0.01, 1),
           bounded(amount("spike", Unit::kFactor, "3", "The spike over the load now"), 1, 1e4),
           bounded(pairs("day", Unit::kRate, "",
                         "Arrivals from an hour on: 0=500,6=1500,9=3000,17=2000,20=1000"),
                   0, 1e12),
           bounded(amount("lead", Unit::kSeconds, "30min", "How long before a rise replicas start"),
                   0, 86400),
           bounded(amount("overshoot", Unit::kFactor, "1.5",
                          "What a reactive scaler peaks at over the need"),
                   1, 10),
           bounded(amount("spot", Unit::kFraction, "0.3", "Share of the fleet on spot machines"), 0,
                   1),
           bounded(
               amount("discount-low", Unit::kFraction, "0.6", "Least discount of spot machines"), 0,
               1),
           bounded(
               amount("discount-high", Unit::kFraction, "0.9", "Largest discount of spot machines"),
               0, 1),
           bounded(amount("notice", Unit::kSeconds, "120s", "Notice before a spot machine goes"), 0,
                   1e5),
           bounded(amount("drain", Unit::kSeconds, "90s", "Time to finish what is in flight"), 0,
                   1e5)},
      .examples =
          {"scale --burst 2000 --replica-rate 1000",
           "scale --replica-rate 100 --day 0=500,6=1500,9=3000,17=2000,20=1000 --weights 140GB"},
      .ask = ask_scale};
}

}  // namespace weir::plan
