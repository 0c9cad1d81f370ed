#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"
#include "weir/plan/batching.h"
#include "weir/plan/decoding.h"

namespace weir::plan {
namespace {

constexpr double kMostProposed = 32;

/// What the draft's weights and pages take from the target's pool.
Status add_tax(const Arguments& a, Answer& out) {
  const Model& target = a.model("model");
  const Model& draft = a.model("draft");
  if (draft.active > target.active)
    return contradiction(fmt::format("{} is larger than {}", draft.title, target.title), "draft");
  const Precision weights = precision(a.word("weights"));
  const Precision kv = precision(a.word("kv"));
  const Bytes total =
      memory_of(a.device("device"), a.word("sizes") == "decimal") * a.number("devices");
  const double context = a.number("context");
  const Bytes each = kv_per_token(target, kv) * context;
  const Bytes draft_each = kv_per_token(draft, kv) * context;
  const double without = sequences_in(kv_pool(total, weight_bytes(target, weights), {}, 0.9), each);
  const double with = sequences_in(
      kv_pool(total, weight_bytes(target, weights) + weight_bytes(draft, weights), {}, 0.9),
      each + draft_each);
  out.step("draft_weights", "the draft's weights", "", weight_bytes(draft, weights),
           "memory budget");
  out.step("draft_kv", "the draft's KV of a sequence", kv_formula(draft, kv), draft_each,
           "memory budget");
  out.step("batch_without", "sequences without a draft", "pool / KV of a sequence",
           count(without, "sequences"), "memory budget");
  out.step("batch_with", "sequences with the draft", "(pool - draft weights) / (KV + draft KV)",
           count(with, "sequences"), "memory budget");
  out.step("page_tax", "admission ceiling lowered by", fmt::format("1 - {} / {}", with, without),
           share(without > 0 ? 1 - with / without : 0), "tax on pages");
  const double bound = compute_bound_batch(
      weight_bytes(target, weights), a.device("device").bandwidth, ops_per_token(target),
      peak(a.device("device"), weights) * a.number("efficiency"));
  const double speculative = std::floor(bound / (a.number("proposed") + 1));
  out.step("free_batch", "checking K + 1 rows is free up to",
           fmt::format("{} rows / ({} + 1)", show_number(std::ceil(bound)), a.number("proposed")),
           count(speculative, "sequences"), "roofline");
  return {};
}

Result<Answer> ask_speculate(const Arguments& a) {
  Answer out;
  out.question = "speculate";
  const double alpha = a.number("alpha");
  const double k = a.number("proposed");
  if (a.has("draft") && (!a.has("model") || !a.has("device")))
    return contradiction("needs a --model and a --device", "draft");
  double cost = 1 / a.number("faster");
  if (a.has("draft") && !a.given("faster"))
    cost = a.model("draft").active / a.model("model").active;
  out.step("draft_cost", "a draft token over a target step",
           a.has("draft") && !a.given("faster") ? "active parameters of one over the other"
                                                : fmt::format("1 / {}", a.number("faster")),
           ratio(cost), "Leviathan 2023");
  const double tokens = tokens_per_round(alpha, k);
  const double speedup = speculation_speedup(alpha, k, cost);
  out.step("tokens", "tokens a round", fmt::format("(1 - {}^{}) / (1 - {})", alpha, k + 1, alpha),
           count(tokens, "tokens"), "Leviathan 2023, eq. 1");
  out.step("speedup", "faster",
           fmt::format("{} / (1 + {} x {})", show_number(tokens), k, show_number(cost)),
           factor(speedup), "Leviathan 2023, thm 3.8");
  const double best = best_proposal(alpha, cost, kMostProposed);
  out.step("best_k", "best number of proposals", "argmax over K", count(best, "tokens"),
           "Leviathan 2023");
  out.step("best_speedup", "faster with it", "",
           factor(best > 0 ? speculation_speedup(alpha, best, cost) : 1), "Leviathan 2023");
  out.step("break_even", "acceptance below which it loses", "speed-up = 1",
           ratio(break_even_acceptance(k, cost)), "Leviathan 2023");
  if (a.has("draft")) WEIR_TRY_STATUS(add_tax(a, out));
  const bool pays = speedup > 1;
  out.headline = fmt::format(
      "At an acceptance of {}, {} proposals make {} tokens a round: {} {}.", alpha, k,
      show_number(tokens), show(factor(pays ? speedup : 1 / speedup)), pays ? "faster" : "slower");
  out.note(
      "On for endpoints bound by latency. Off where the batch already makes decode compute-bound, "
      "and under memory pressure: the draft's pages lower the admission ceiling.");
  Table table{.title = "Acceptance and proposals",
              .columns = {"acceptance", "tokens a round", "faster", "best K", "faster with it"},
              .rows = {}};
  Chart chart{.title = "Speculative decoding",
              .x = {"acceptance", false},
              .y = {"times faster", false},
              .series = {},
              .marks = {{"break-even", 1, false}}};
  for (double at : {0.5, 0.6, 0.7, 0.8, 0.9, 0.95}) {
    const double bk = best_proposal(at, cost, kMostProposed);
    table.rows.push_back({ratio(at), count(tokens_per_round(at, k), ""),
                          factor(speculation_speedup(at, k, cost)), count(bk, ""),
                          factor(bk > 0 ? speculation_speedup(at, bk, cost) : 1)});
  }
  for (double proposed : {1.0, 3.0, 5.0, 8.0}) {
    Series line{.name = fmt::format("K = {}", proposed), .points = {}};
    for (double at = 0.01; at < 0.995; at += 0.02)
      line.points.emplace_back(at, speculation_speedup(at, proposed, cost));
    chart.series.push_back(std::move(line));
  }
  out.tables.push_back(std::move(table));
  out.charts.push_back(std::move(chart));
  return out;
}

}  // namespace

Question speculate_question() {
  return {
      .name = "speculate",
      .summary =
          "Whether a draft pays: tokens a round, best K, break-even acceptance, the tax on pages",
      .parameters = {bounded(
                         amount("alpha", Unit::kNone, "0.7",
                                "Share of proposals the target accepts (0.6 to 0.8 in practice)"),
                         0, 1),
                     whole("proposed", "5", 1, kMostProposed, "Tokens proposed a round (K)"),
                     bounded(amount("faster", Unit::kNone, "20",
                                    "How many times faster the draft makes a token"),
                             1, 1e6),
                     model("model", "", "The target, to see the tax on pages"),
                     model("draft", "", "The draft model"), device("device", "", "Where they run"),
                     whole("devices", "1", 1, 1e6, "How many devices share them"),
                     precision_choice("weights", "fp16", "How weights are kept"),
                     precision_choice("kv", "fp16", "How keys and values are kept"),
                     whole("context", "4096", 1, 1e9, "Tokens of a sequence"),
                     bounded(amount("efficiency", Unit::kFraction, "0.5",
                                    "Share of the peak operations that is reached"),
                             0.001, 1),
                     sizes_parameter()},
      .examples = {"speculate --alpha 0.9 --proposed 5 --faster 20",
                   "speculate --model llama-3-70b --draft llama-3-8b --device h100 --devices 4"},
      .ask = ask_speculate};
}

}  // namespace weir::plan
