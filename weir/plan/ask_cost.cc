#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"
#include "weir/plan/economics.h"

namespace weir::plan {
namespace {

struct Cost {
  Dollars train, each;
  Rate requests;
  Seconds life;
  [[nodiscard]] Dollars serving(Seconds time) const { return each * (requests * time); }
};

Result<Cost> cost_of(const Arguments& a, Answer& out) {
  Cost c;
  c.life = a.seconds("life");
  c.train = a.dollars("train");
  if (a.has("train-hours")) {
    if (a.given("train")) return contradiction("give either --train or --train-hours", "train");
    const Price hourly =
        a.has("train-price") ? a.price("train-price") : a.registry().prices.training_device;
    const double tries = 1 + a.number("train-overhead");
    c.train = hourly * (hours(a.number("train-hours")) * tries);
    out.step(
        "train", "training",
        fmt::format("{} device hours x {} x (1 + {} for what failed)",
                    show_number(a.number("train-hours")), show(hourly), show_number(tries - 1)),
        c.train, "registry prices");
  }
  if (a.has("users") != a.has("per-user"))
    return contradiction("--users and --per-user go together",
                         a.has("users") ? "per-user" : "users");
  if (a.has("users") == a.has("rate"))
    return contradiction("give either --rate, or --users and --per-user", "rate");
  c.requests = a.has("rate") ? a.rate("rate") : a.rate("per-user") * a.number("users");
  if (a.has("users"))
    out.step("requests", "requests",
             fmt::format("{} users x {} a day", show(count(a.number("users"), "")),
                         show_number(a.number("per-user") * 86400)),
             rate(c.requests, "requests"), "C_train + C_serve T Q");
  if (a.has("per-million") == a.has("per-request"))
    return contradiction("give either --per-request or --per-million", "per-request");
  c.each = a.has("per-request") ? a.dollars("per-request") : a.dollars("per-million") / 1e6;
  return c;
}

/// Dollars for tokens when devices are rented.
void add_devices(const Arguments& a, Answer& out) {
  const Rate tokens = a.rate("tokens");
  const Price hourly = a.has("hourly") ? a.price("hourly") : a.registry().prices.inference_device;
  const double n = a.number("devices");
  const Dollars million = cost_per_million(hourly, n, tokens);
  out.step("per_million", "a million tokens",
           fmt::format("{} x {} / {}", n, show(hourly), show(rate(tokens, "tokens"))), million,
           "price / tokens a second");
  out.step("per_thousand", "a thousand tokens", "/ 1000", million / 1000,
           "price / tokens a second");
  const Dollars sent =
      a.registry().prices.egress_per_gb * (a.bytes("reply-bytes") * 1e6 / gigabytes(1));
  out.step("egress", "sending a million tokens",
           fmt::format("10^6 x {} x {} a GB", show(a.bytes("reply-bytes")),
                       show(a.registry().prices.egress_per_gb)),
           sent, "registry prices");
  out.step("per_million_used",
           fmt::format("a million tokens at {} busy", show(share(a.number("utilisation")))),
           "/ utilisation", million / a.number("utilisation"), "every idle per cent is money");
}

/// A device bought and run against the same device rented.
void add_owning(const Arguments& a, Answer& out) {
  const Device& d = a.device("device");
  const Seconds life = a.seconds("hardware-life");
  const Dollars kwh = a.registry().prices.electricity_per_kwh;
  const Price power = dollars_per_hour(d.power_watts / 1000 * kwh.value);
  out.step("power_price", "electricity of one device",
           fmt::format("{} W x {} a kWh", show_number(d.power_watts), show(kwh)), power,
           "registry prices");
  if (d.purchase.value <= 0) {
    out.note(fmt::format("The registry has no purchase price of {}.", d.title));
    return;
  }
  const Price own = d.purchase / life + power;
  out.step("own_price", "a device of one's own",
           fmt::format("{} / {} + electricity", show(d.purchase), show(life)), own,
           "straight-line");
  const Price rent = a.has("hourly") ? a.price("hourly") : d.hourly;
  if (rent.value <= 0) {
    out.note("Give --hourly to compare owning with renting.");
    return;
  }
  out.step("rent_price", "the same device rented", a.has("hourly") ? "given" : "registry", rent,
           "registry prices");
  // Rented only while busy, owned all the time.
  out.step("own_break_even", "busier than this, owning is cheaper",
           fmt::format("{} / {}", show(own), show(rent)), share(std::min(1.0, own / rent)),
           "own / rent");
}

/// Which figure moves the result most.
void add_sensitivity(const Cost& c, Answer& out) {
  Table table{.title = "Sensitivity: 10 % less of one figure, over the whole life",
              .columns = {"figure", "total", "saved", "of the total"},
              .rows = {}};
  const Dollars base = lifetime_cost(c.train, c.each, c.requests, c.life);
  const auto row = [&](const char* what, const Cost& changed) {
    const Dollars total =
        lifetime_cost(changed.train, changed.each, changed.requests, changed.life);
    table.rows.push_back({std::string(what), total, base - total, share((base - total) / base)});
  };
  Cost changed = c;
  changed.train = c.train * 0.9;
  row("training", changed);
  changed = c;
  changed.each = c.each * 0.9;
  row("cost of a request", changed);
  changed = c;
  changed.requests = c.requests * 0.9;
  row("requests (cache, cascade)", changed);
  out.tables.push_back(std::move(table));
}

void add_crossover_chart(const Cost& c, Seconds when, Answer& out) {
  Chart chart{.title = "When serving has cost as much as training",
              .x = {"months", false},
              .y = {"million dollars so far", false},
              .series = {},
              .marks = {}};
  const double end =
      std::clamp(3 * when.value, days(30).value, std::max(c.life.value, days(30).value));
  Series serving{.name = "serving", .points = {}}, all{.name = "both", .points = {}};
  for (int i = 0; i <= 24; ++i) {
    const Seconds t = in_seconds(end * i / 24);
    serving.points.emplace_back(t / days(365.0 / 12), c.serving(t).value / 1e6);
    all.points.emplace_back(t / days(365.0 / 12), (c.train + c.serving(t)).value / 1e6);
  }
  chart.series = {
      serving,
      all,
      {.name = "training",
       .points = {{0, c.train.value / 1e6}, {end / days(365.0 / 12).value, c.train.value / 1e6}},
       .dashed = true}};
  chart.marks.push_back({fmt::format("crossover: {}", show(when)), when / days(365.0 / 12), true});
  out.charts.push_back(std::move(chart));
}

/// The chapter's empirical cost of 1000 tokens over the volume.
void add_curves(Answer& out) {
  struct Curve {
    const char* name;
    double base, exponent;
  };
  Table table{.title = "Cost of 1000 tokens by volume (quoted curves)",
              .columns = {"tokens a day", "one machine", "several", "optimised"},
              .rows = {}};
  const Curve curves[] = {{"one", .15, .30}, {"several", .08, .45}, {"optimised", .02, .55}};
  for (double v : {1e5, 1e6, 1e7, 1e8, 1e9}) {
    std::vector<Cell> row = {count(v, "tokens")};
    for (const Curve& c : curves) row.emplace_back(cost_curve(c.base, c.exponent, v));
    table.rows.push_back(std::move(row));
  }
  out.tables.push_back(std::move(table));
}

Result<Answer> ask_cost(const Arguments& a) {
  Answer out;
  out.question = "cost";
  if (a.has("tokens")) add_devices(a, out);
  if (a.has("device")) add_owning(a, out);
  const bool life = a.has("rate") || a.has("users") || a.has("per-user") || a.has("per-request") ||
                    a.has("per-million");
  if (!life && !a.has("tokens"))
    return contradiction(
        "give the tokens/s of the devices, or --rate and --per-request for a life's cost",
        "tokens");
  if (!life) {
    out.headline = fmt::format(
        "A million tokens cost {} ({} at {} busy).", show(Dollars{out.at("per_million")}),
        show(Dollars{out.at("per_million_used")}), show(share(a.number("utilisation"))));
    Chart chart{.title = "What idleness costs",
                .x = {"utilisation, %", false},
                .y = {"dollars a million tokens", false},
                .series = {{.name = "cost", .points = {}}},
                .marks = {{"now", 100 * a.number("utilisation"), true}}};
    for (double u = 10; u <= 100; u += 2.5)
      chart.series[0].points.emplace_back(u, out.at("per_million") / u * 100);
    out.charts.push_back(std::move(chart));
    add_curves(out);
    return out;
  }
  WEIR_TRY(const Cost c, cost_of(a, out));
  const Dollars year = c.serving(years(1));
  const Dollars serving = c.serving(c.life);
  out.step("requests_life", "requests over the life",
           fmt::format("{} x {}", show(rate(c.requests, "")), show(c.life)),
           count(c.requests * c.life, "requests"), "C_train + C_serve T Q");
  out.step("serving_year", "serving, a year", fmt::format("{} x requests a year", show(c.each)),
           year, "C_train + C_serve T Q");
  out.step("serving_life", "serving, the whole life", "C_serve T Q", serving,
           "C_train + C_serve T Q");
  out.step("total", "all of it", "C_train + C_serve T Q",
           lifetime_cost(c.train, c.each, c.requests, c.life), "C_train + C_serve T Q");
  if (c.train.value > 0) {
    out.step("ratio", "serving over training", fmt::format("{} / {}", show(serving), show(c.train)),
             factor(serving / c.train), "C_train + C_serve T Q");
    out.step("ratio_year", "serving of one year over training",
             fmt::format("{} / {}", show(year), show(c.train)), factor(year / c.train),
             "C_train + C_serve T Q");
    const Seconds when = crossover(c.train, c.each, c.requests);
    out.step("crossover", "serving has cost as much as training after", "C_train / (C_serve Q)",
             when, "C_train + C_serve T Q");
    out.step("crossover_months", "in months", "a twelfth of a year each",
             ratio(when / days(365.0 / 12)), "C_train + C_serve T Q");
    out.headline =
        fmt::format("Serving costs {} a year, {} the training: it overtakes it after {}.",
                    show(year), show(factor(year / c.train)), show(when));
    add_crossover_chart(c, when, out);
  } else {
    out.headline = fmt::format("Serving costs {} a year.", show(year));
    add_crossover_chart(c, years(1), out);
  }
  out.step("ten_per_cent", "10 % off a request saves, a year", "", year * 0.1,
           "C_train + C_serve T Q");
  add_sensitivity(c, out);
  add_curves(out);
  return out;
}

}  // namespace

Question cost_question() {
  return {
      .name = "cost",
      .summary =
          "What it costs: over a model's life, the crossover with training, per million tokens, "
          "sensitivity",
      .parameters =
          {bounded(amount("train", Unit::kDollars, "0", "What training cost"), 0, 1e13),
           bounded(amount("rate", Unit::kRate, "", "Requests a second"), 1e-9, 1e12),
           whole("users", "", 1, 1e11, "Users, instead of --rate"),
           bounded(amount("per-user", Unit::kRate, "", "Requests of a user: 50/day"), 1e-12, 1e6),
           bounded(amount("per-request", Unit::kDollars, "", "Cost of one request"), 1e-12, 1e6),
           bounded(amount("per-million", Unit::kDollars, "", "Cost of a million requests, instead"),
                   1e-9, 1e12),
           bounded(amount("life", Unit::kSeconds, "1year", "How long the model serves"), 3600,
                   3.2e9),
           bounded(amount("tokens", Unit::kRate, "", "Tokens a second of the devices together"),
                   1e-6, 1e12),
           whole("devices", "1", 1, 1e6, "Devices that make them"),
           bounded(amount("hourly", Unit::kPrice, "",
                          "Price of one device (default: the registry's inference price)"),
                   1e-9, 1e3),
           device("device", "", "A device, to compare owning with renting"),
           bounded(
               amount("hardware-life", Unit::kSeconds, "3years", "How long an owned device serves"),
               86400, 3.2e9),
           bounded(amount("reply-bytes", Unit::kBytes, "200B",
                          "Bytes sent for one token, its frame included"),
                   1, 1e9),
           bounded(amount("train-hours", Unit::kCount, "",
                          "Device hours of training, instead of --train"),
                   1e-3, 1e12),
           bounded(amount("train-price", Unit::kPrice, "",
                          "Price of a training device (default: the registry's)"),
                   1e-9, 1e3),
           bounded(amount("train-overhead", Unit::kFactor, "3",
                          "Runs that failed, over the one that counts"),
                   0, 1000),
           bounded(amount("utilisation", Unit::kFraction, "0.7", "How busy they are"), 0.01, 1)},
      .examples = {"cost --train '$2M' --users 1M --per-user 50/day --per-request '$0.001'",
                   "cost --train '$12000' --rate 10000 --per-million '$10' --life 730days",
                   "cost --devices 8 --hourly '$2.5/h' --tokens 2315"},
      .ask = ask_cost};
}

}  // namespace weir::plan
