#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"

namespace weir::plan {
namespace {

/// What sharing a prefix saves in bytes and in prefill.
void add_prefix(const Arguments& a, Answer& out) {
  const Model& m = a.model("model");
  const double shared = a.number("shared"), own = a.number("own"), users = a.number("users");
  const Bytes token = kv_per_token(m, precision(a.word("kv")));
  const Bytes apart = token * ((shared + own) * users);
  const Bytes together = token * (shared + own * users);
  out.step("kv_per_token", "KV of one token", kv_formula(m, precision(a.word("kv"))), token,
           "memory budget");
  out.step("apart", "KV without sharing",
           fmt::format("({} + {}) x {} x {}", shared, own, show_number(users), show(token)), apart,
           "shared prefix");
  out.step("together", "KV with the prefix kept once",
           fmt::format("({} + {} x {}) x {}", shared, own, show_number(users), show(token)),
           together, "shared prefix");
  out.step("saved", "saved", fmt::format("1 - {} / {}", show(together), show(apart)),
           share(1 - together / apart), "shared prefix");
  out.step("times", "sequences in the same memory", "", factor(apart / together), "shared prefix");
  const double hit = a.number("hit");
  out.step("prefill_saved", "prefill tokens saved",
           fmt::format("{} x {} / ({} + {})", hit, shared, shared, own),
           share(hit * shared / (shared + own)), "shared prefix");
  out.headline = fmt::format(
      "Keeping a prefix of {} tokens once takes {} instead of {} for {} users ({} less) and saves "
      "{} of prefill.",
      show_number(shared), show(together), show(apart), show_number(users),
      show(share(1 - together / apart)), show(share(hit * shared / (shared + own))));
  Chart chart{.title = "Memory saved by keeping the prefix once",
              .x = {"users", true},
              .y = {"saved, %", false},
              .series = {},
              .marks = {{"these users", users, true}}};
  for (double part : {0.2, 0.5, 0.8}) {
    Series line{.name = fmt::format("{:.0f} % shared", part * 100), .points = {}};
    for (double n = 1; n <= 10'000; n *= 1.5)
      line.points.emplace_back(n, 100 * (1 - (part + (1 - part) * n) / n));
    chart.series.push_back(std::move(line));
  }
  out.charts.push_back(std::move(chart));
}

/// State across turns: kept, or made again each time.
void add_turns(const Arguments& a, Answer& out) {
  const double turns = a.number("turns");
  const Seconds rebuild = a.seconds("rebuild");
  out.step("rebuilds", "rebuilds in a conversation without affinity", fmt::format("{} - 1", turns),
           count(turns - 1, "rebuilds"), "sessions without affinity");
  out.step("rebuild_time", "time lost to them", fmt::format("{} x {}", turns - 1, show(rebuild)),
           rebuild * (turns - 1), "sessions without affinity");
}

/// Answers that need no model: exact and semantic hits, and hits at the edge.
void add_answers(const Arguments& a, Answer& out) {
  const double hit = a.number("answer-hit");
  const Seconds lookup = a.seconds("lookup"), model_time = a.seconds("model-time");
  const Seconds mean_time = lookup + model_time * (1 - hit);
  out.step("mean_time", "mean time of an answer",
           fmt::format("{} + (1 - {}) x {}", show(lookup), hit, show(model_time)), mean_time,
           "cache in front of a model");
  out.step("mean_speedup", "faster on average", "", factor(model_time / mean_time),
           "cache in front of a model");
  out.step("load_left", "requests that still reach a model", "1 - hit rate", share(1 - hit),
           "edge cache");
  out.step("break_even_hit", "hit rate below which looking up costs time",
           fmt::format("{} / {}", show(lookup), show(model_time)),
           share(std::min(1.0, lookup / model_time)), "cache in front of a model");
  Table table{.title = "Hit rates that were seen (bands, not promises)",
              .columns = {"work", "answers found at the edge", "prefix found", "prefill saved"},
              .rows = {}};
  const auto row = [&](const char* work, const char* edge, const char* prefix, const char* saved) {
    table.rows.push_back(
        {std::string(work), std::string(edge), std::string(prefix), std::string(saved)});
  };
  row("autocomplete", "60-80 %", "", "");
  row("frequent questions", "40-60 %", "", "");
  row("chatbot with a system prompt", "5-15 %", "95 %+", "70-80 %");
  row("questions on a document", "", "80-90 %", "50-70 %");
  row("open conversation", "5-15 %", "20-40 %", "10-30 %");
  row("code", "20-40 %", "", "");
  out.tables.push_back(std::move(table));
}

Result<Answer> ask_cache(const Arguments& a) {
  Answer out;
  out.question = "cache";
  add_prefix(a, out);
  add_turns(a, out);
  add_answers(a, out);
  out.note(
      "Prefixes are shared within a tenant only, unless the operator says otherwise; a semantic "
      "hit is checked against the asker again on the way out.");
  return out;
}

}  // namespace

Question cache_question() {
  return {
      .name = "cache",
      .summary =
          "What caches save: shared prefixes, conversations that stay, answers found without a "
          "model",
      .parameters =
          {model("model", "llama-70b-mha", "The model whose KV is kept"),
           precision_choice("kv", "fp16", "How keys and values are kept"),
           whole("shared", "2000", 1, 1e8, "Tokens of the prefix all share"),
           whole("own", "500", 0, 1e8, "Tokens of each user's own"),
           whole("users", "1000", 1, 1e9, "Sequences at once"),
           bounded(amount("hit", Unit::kFraction, "0.95", "Share of requests that find the prefix"),
                   0, 1),
           whole("turns", "10", 1, 1e6, "Turns of a conversation"),
           bounded(
               amount("rebuild", Unit::kSeconds, "500ms", "Time to prefill a conversation again"),
               0, 1e5),
           bounded(amount("answer-hit", Unit::kFraction, "0.3",
                          "Share of answers found in the answer cache"),
                   0, 1),
           bounded(
               amount("lookup", Unit::kSeconds, "5ms", "Time of one look-up, exact and semantic"),
               0, 1e3),
           bounded(amount("model-time", Unit::kSeconds, "2s", "Time of an answer by the model"),
                   1e-6, 1e5)},
      .examples = {"cache --shared 2000 --own 500 --users 1000",
                   "cache --model llama-3-8b --shared 4000 --own 200 --users 50"},
      .ask = ask_cache};
}

}  // namespace weir::plan
