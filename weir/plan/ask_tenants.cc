#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"
#include "weir/policy/max_min.h"
#include "weir/policy/token_bucket.h"

namespace weir::plan {
namespace {

Result<std::vector<policy::Demand>> demands_of(const Arguments& a) {
  std::vector<policy::Demand> demands;
  for (const auto& [name, wanted] : a.pairs("demands")) demands.push_back({wanted, 1});
  if (!a.has("weights")) return demands;
  for (const auto& [name, weight] : a.pairs("weights")) {
    const auto& tenants = a.pairs("demands");
    const auto found = std::ranges::find(tenants, name, &std::pair<std::string, double>::first);
    if (found == tenants.end())
      return contradiction(fmt::format("'{}' has no demand", name), "weights");
    demands[static_cast<std::size_t>(found - tenants.begin())].weight = weight;
  }
  return demands;
}

Result<Answer> ask_tenants(const Arguments& a) {
  Answer out;
  out.question = "tenants";
  const double capacity = a.number("capacity");
  const double reserved = capacity * a.number("reserve");
  const double shared = capacity - reserved;
  WEIR_TRY(const auto demands, demands_of(a));
  double wanted = 0;
  for (const auto& d : demands) wanted += d.wanted;
  out.step("capacity", "capacity to share",
           reserved > 0 ? fmt::format("{} - {} reserved for critical work", show_number(capacity),
                                      show_number(reserved))
                        : "",
           rate(per_second(shared), ""), "reserved capacity");
  out.step("demand", "asked for in all", "sum of the demands", rate(per_second(wanted), ""), "");
  const auto shares = policy::max_min_shares(shared, demands);
  const double load = shared > 0 ? wanted / shared : 0;
  out.step("load", "load", fmt::format("{} / {}", show_number(wanted), show_number(shared)),
           share(load), "");
  Table table{.title = "Max-min fair shares",
              .columns = {"tenant", "asks", "weight", "gets", "of what it asks", "soft quota now"},
              .rows = {}};
  Chart chart{.title = "Max-min fairness: who gets what as capacity grows",
              .x = {"capacity", false},
              .y = {"share", false},
              .series = {},
              .marks = {{"capacity", shared, true}}};
  const auto& tenants = a.pairs("demands");
  double total_weight = 0;
  for (const auto& d : demands) total_weight += d.weight;
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    const double quota = shared * demands[i].weight / total_weight;
    out.step("share_" + tenants[i].first, tenants[i].first + " gets", "water filling",
             rate(per_second(shares[i]), ""), "policy/max_min.h");
    table.rows.push_back({tenants[i].first, rate(per_second(demands[i].wanted), ""),
                          ratio(demands[i].weight), rate(per_second(shares[i]), ""),
                          share(demands[i].wanted > 0 ? shares[i] / demands[i].wanted : 1),
                          rate(per_second(policy::soft_quota(quota, std::min(load, 1.0))), "")});
    if (i < 6) chart.series.push_back({.name = tenants[i].first, .points = {}});
  }
  for (int step = 0; step <= 48; ++step) {
    const double c = 1.3 * std::max(wanted, shared) * step / 48;
    const auto at = policy::max_min_shares(c, demands);
    for (std::size_t i = 0; i < chart.series.size(); ++i)
      chart.series[i].points.emplace_back(c, at[i]);
  }
  out.tables.push_back(std::move(table));
  out.charts.push_back(std::move(chart));
  if (a.has("pool") != a.has("taken"))
    return contradiction("--pool and --taken go together", a.has("pool") ? "taken" : "pool");
  if (a.has("pool")) {
    const Bytes pool = a.bytes("pool"), taken = a.bytes("taken");
    if (taken > pool) return contradiction("is more than the pool", "taken");
    const double n = a.number("sharers");
    out.step("fair_pool", "a fair part of the KV pool", fmt::format("{} / {}", show(pool), n),
             pool / n, "quota");
    const Bytes left = (pool - taken) / (n - 1);
    out.step("left_pool", "what each other keeps when one takes " + show(taken),
             fmt::format("({} - {}) / {}", show(pool), show(taken), n - 1), left,
             "noisy neighbour");
    out.step("sequences_lost", "sequences each other loses", "1 - left / fair",
             share(std::max(0.0, 1 - left / (pool / n))), "noisy neighbour");
  }
  Table classes{.title = "Priority classes",
                .columns = {"class", "may pre-empt", "guarantee", "spot machines"},
                .rows = {}};
  classes.rows = {{std::string("critical"), std::string("standard, background"),
                   std::string("reserved capacity"), std::string("never")},
                  {std::string("standard"), std::string("background"),
                   std::string("weighted share"), std::string("some")},
                  {std::string("background"), std::string("nothing"), std::string("what is left"),
                   std::string("all")}};
  out.tables.push_back(std::move(classes));
  out.headline =
      load <= 1 ? fmt::format("All demands fit: {} of {} is used.", show_number(wanted),
                              show_number(shared))
                : fmt::format(
                      "{} is asked of {}: small demands are met, the largest get {} each at most.",
                      show_number(wanted), show_number(shared),
                      show_number(*std::ranges::max_element(shares)));
  out.note(
      "Soft quotas: up to twice the quota below 50 % load, exactly the quota from 90 %, a straight "
      "line between.");
  return out;
}

}  // namespace

Question tenants_question() {
  return {
      .name = "tenants",
      .summary = "Who gets what: max-min shares, quotas, reserved capacity, the noisy neighbour",
      .parameters =
          {needed(bounded(amount("capacity", Unit::kRate, "",
                                 "What there is to share, of one thing (tokens/s, requests/s)"),
                          1e-6, 1e15)),
           needed(bounded(
               pairs("demands", Unit::kRate, "", "What each tenant asks: a=30k,b=20k,c=80k"), 0,
               1e15)),
           bounded(pairs("weights", Unit::kNone, "", "Weights other than 1: a=2"), 1e-6, 1e6),
           bounded(amount("reserve", Unit::kFraction, "0", "Part kept for critical work"), 0, 1),
           bounded(amount("pool", Unit::kBytes, "", "A KV pool without quotas"), 1, 1e18),
           bounded(amount("taken", Unit::kBytes, "", "What one tenant takes of it"), 0, 1e18),
           whole("sharers", "3", 2, 1e6, "Tenants on that pool")},
      .examples = {"tenants --capacity 100k --demands a=30k,b=20k,c=80k",
                   "tenants --capacity 1000 --demands a=300,b=200,c=800 --pool 60GB --taken 45GB"},
      .ask = ask_tenants};
}

}  // namespace weir::plan
