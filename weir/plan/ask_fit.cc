#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"
#include "weir/plan/batching.h"

namespace weir::plan {
namespace {

constexpr double kPageTokens = 16;

/// Everything the question is about, worked out once.
struct Fit {
  const Model& model;
  Precision weights_in, kv_in;
  bool measured = false;  ///< From a file: what Weir itself allocates.
  double devices = 1;
  Bytes weights{}, overhead{}, kv_token{}, kv_sequence{};
  double context = 0, page_tokens = kPageTokens;
  Bytes total{};  ///< 0 when no machine was named.
  double fraction = 1;
  [[nodiscard]] Bytes pool(Bytes memory, double part) const {
    return kv_pool(memory, weights, overhead, part);
  }
  [[nodiscard]] bool windows() const { return measured && model.kv.windowed > 0; }
  [[nodiscard]] Bytes sequence(double tokens) const {
    if (!windows()) return kv_of_sequence(kv_token, tokens, page_tokens);
    const auto positions = static_cast<std::uint64_t>(std::ceil(tokens));
    return model.kv_unit * static_cast<double>(model.kv.of_sequence(
                               positions, static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
                                              positions, 1, model.chunk))));
  }
  /// The longest sequence whose KV `room` holds.
  [[nodiscard]] double tokens_in(Bytes room) const {
    if (!windows()) return std::floor(room / kv_token);
    const double units = std::clamp(std::floor(room / model.kv_unit), 0.0, 1e15);
    return static_cast<double>(
        model.kv.positions_in(static_cast<std::uint64_t>(units), model.chunk));
  }
};

Result<Fit> work_out(const Arguments& a) {
  const Model& m = a.model("model");
  Fit f{.model = m, .weights_in = precision(a.word("weights")), .kv_in = precision(a.word("kv"))};
  f.measured = m.measured() && !a.given("weights") && !a.given("kv");
  f.devices = a.number("devices");
  f.context = a.has("context") ? a.number("context") : m.context;
  f.weights = f.measured ? m.packed_weights : weight_bytes(m, f.weights_in);
  f.overhead = a.bytes("overhead");
  if (f.measured) {
    f.overhead += m.activations + m.tables;
    f.page_tokens = m.page_tokens;
  }
  f.kv_token = f.measured ? m.kv_unit * m.kv.of_page() / m.page_tokens : kv_per_token(m, f.kv_in);
  f.kv_sequence = f.sequence(f.context);
  if (a.has("memory")) {
    f.total = a.bytes("memory") * f.devices;
  } else if (a.has("device")) {
    f.total = memory_of(a.device("device"), a.word("sizes") == "decimal") * f.devices;
  } else if (a.given("devices")) {
    return contradiction("name the --device, or give its --memory", "devices");
  }
  f.fraction = a.number("pool-fraction");
  return f;
}

void explain_sizes(const Fit& f, Answer& out) {
  if (f.measured) {
    out.step("weights", "weights, packed", "as weir serve packs this file", f.weights,
             "weir inspect");
    out.step("overhead", "activations and tables", "scratch of one step, rotary tables", f.overhead,
             "weir inspect");
    out.step("kv_per_token", "KV of one token",
             fmt::format("{} a page / {} tokens", show(f.model.kv_unit * f.model.kv.of_page()),
                         f.page_tokens),
             f.kv_token, "weir inspect");
    if (f.windows()) {
      out.step(
          "kv_per_old_token", "of it beyond the window",
          fmt::format("{} of {} units; the rest for the last {} tokens, and the {} rows of a "
                      "step",
                      f.model.kv.whole, f.model.kv.of_page(), f.model.kv.window, f.model.chunk),
          f.kv_token * f.model.kv.whole / f.model.kv.of_page(), "weir inspect");
    }
  } else {
    out.step("weights", "weights",
             fmt::format("{} parameters x {} bits / 8", show(count(f.model.parameters, "")),
                         f.weights_in.bits),
             f.weights, "memory budget");
    out.step("overhead", "activations and overhead", "given", f.overhead, "memory budget");
    out.step("kv_per_token", "KV of one token", kv_formula(f.model, f.kv_in), f.kv_token,
             "PagedAttention 2023");
  }
  out.step("kv_per_sequence", fmt::format("KV of {} tokens", show(count(f.context, ""))),
           fmt::format("whole pages of {} tokens", f.page_tokens), f.kv_sequence,
           "PagedAttention 2023");
  out.step("one_sequence", "weights and one sequence", "weights + overhead + KV",
           f.weights + f.overhead + f.kv_sequence, "");
  out.step("kv_equals_weights", "context whose KV weighs as much as the weights",
           f.windows() ? "weights in units of KV" : "weights / KV of one token",
           count(f.tokens_in(f.weights), "tokens"), "KV wall");
}

/// The pool and what it holds; the sentence that opens the answer.
std::string explain_pool(const Fit& f, const Arguments& a, Answer& out) {
  const Bytes pool = f.pool(f.total, f.fraction);
  const double batch = sequences_in(pool, f.kv_sequence);
  out.step("total", "memory", fmt::format("{} x {}", f.devices, show(f.total / f.devices)), f.total,
           "");
  out.step("pool", "KV pool",
           fmt::format("{} x ({} - {} - {})", f.fraction, show(f.total), show(f.weights),
                       show(f.overhead)),
           pool, "memory budget");
  out.step("max_batch", "sequences of that length at once", "floor(pool / KV of a sequence)",
           count(batch, "sequences"), "memory budget");
  out.step("longest", "longest single sequence",
           f.windows() ? "pool in units of KV" : "pool / KV of one token",
           count(f.tokens_in(pool), "tokens"), "KV wall");
  const Bytes each = f.total / f.devices;
  const double least = std::ceil(((f.weights + f.overhead) / (each * f.fraction)) * (1 - 1e-12));
  out.step(
      "min_devices", "devices that the weights alone need",
      fmt::format("ceil({} / ({} x {}))", show(f.weights + f.overhead), f.fraction, show(each)),
      count(least, "devices"), "memory budget");

  if (!a.has("memory") &&
      memory_of(a.device("device"), true) != memory_of(a.device("device"), false)) {
    const bool decimal = a.word("sizes") == "decimal";
    const Bytes other = memory_of(a.device("device"), !decimal) * f.devices;
    out.note(fmt::format(
        "A device's memory is read as {}; read as {} (--sizes {}) the answer is {} sequences.",
        show(f.total / f.devices), show(other / f.devices), decimal ? "registry" : "decimal",
        show_number(sequences_in(f.pool(other, f.fraction), f.kv_sequence))));
  }
  if (f.fraction < 1) {
    out.note(fmt::format(
        "{} of the free memory becomes KV pool; all of it (--pool-fraction 1) would hold {} "
        "sequences.",
        show(share(f.fraction)), show_number(sequences_in(f.pool(f.total, 1), f.kv_sequence))));
  }
  if (f.model.kv_latent == 0 && f.devices > f.model.kv_heads) {
    out.note(
        fmt::format("Beyond {} devices of tensor parallelism the {} KV heads are copied, not "
                    "split: the pool then counts for less.",
                    f.model.kv_heads, f.model.kv_heads));
  }
  if (pool.value <= 0) {
    return fmt::format("{} does not fit: its weights take {} and there are {}. It needs {}.",
                       f.model.title, show(f.weights + f.overhead), show(f.total),
                       show(count(least, "devices")));
  }
  return fmt::format(
      "{} fits, with {} left for keys and values: {} at once of {} tokens ({} each).",
      f.model.title, show(pool), show(count(batch, "sequences")), show_number(f.context),
      show(f.kv_sequence));
}

void add_ladder(const Fit& f, Answer& out) {
  Table ladder{.title = "Context ladder", .columns = {"context", "KV each"}, .rows = {}};
  const bool machine = f.total.value > 0;
  if (machine)
    ladder.columns.insert(ladder.columns.end(), {"sequences", "KV of them", "of memory"});
  for (double context : doublings(std::min(1024.0, f.context), f.context)) {
    const Bytes each = f.sequence(context);
    std::vector<Cell> row = {count(context, "tokens"), each};
    if (machine) {
      const double n = sequences_in(f.pool(f.total, f.fraction), each);
      row.insert(row.end(),
                 {count(n, ""), each * n, share((f.weights + f.overhead + each * n) / f.total)});
    }
    ladder.rows.push_back(std::move(row));
  }
  out.tables.push_back(std::move(ladder));
}

/// Weights and KV of a few batch sizes over the context, against the memory there is.
void add_chart(const Fit& f, Answer& out) {
  Chart chart{.title = "The KV wall: " + f.model.title,
              .x = {"context of each sequence, tokens", true},
              .y = {"memory, GB", false},
              .series = {},
              .marks = {}};
  const double top = f.total.value > 0 ? 1.6 * f.total.value : 0;
  // Around what fits at the full context, so that the wall is in the picture.
  const double fits =
      f.total.value > 0 ? sequences_in(f.pool(f.total, f.fraction), f.kv_sequence) : 16;
  std::vector<double> batches = {1};
  for (double batch : {std::ceil(fits / 4), fits, 2 * fits, 8 * fits}) {
    if (batch > batches.back()) batches.push_back(batch);
  }
  for (double batch : batches) {
    Series line{.name = show(count(batch, "sequences")), .points = {}};
    const double first = std::min(256.0, f.context);
    constexpr int kSteps = 96;
    for (int i = 0; i <= kSteps; ++i) {
      const double context = first * std::pow(f.context / first, static_cast<double>(i) / kSteps);
      const Bytes each = f.windows() ? f.sequence(context) : f.kv_token * context;
      const double used = (f.weights + f.overhead + each * batch).value;
      if (top > 0 && used > top) break;
      line.points.emplace_back(context, used / 1e9);
    }
    chart.series.push_back(std::move(line));
  }
  if (f.total.value > 0)
    chart.marks.push_back(
        {fmt::format("all there is: {}", show(f.total)), f.total.value / 1e9, false});
  chart.marks.push_back(
      {fmt::format("weights: {}", show(f.weights)), f.weights.value / 1e9, false});
  out.charts.push_back(std::move(chart));
}

void add_layout(const Fit& f, double mean_tokens, Answer& out) {
  const double waste = contiguous_waste(mean_tokens, f.context);
  out.step("contiguous_waste", "waste of one block per sequence",
           fmt::format("1 - {} / {}", mean_tokens, f.context), share(waste), "PagedAttention 2023");
  const double paged = mean_tokens / (std::ceil(mean_tokens / f.page_tokens) * f.page_tokens);
  out.step("paged_use", "use of paged KV",
           fmt::format("{} tokens in whole pages of {}", mean_tokens, f.page_tokens), share(paged),
           "PagedAttention 2023");
}

void add_tiers(const Fit& f, const Registry& registry, Answer& out) {
  Table tiers{.title = "Idle sequences that each kind of memory could keep",
              .columns = {"memory", "capacity", "sequences", "back in"},
              .rows = {}};
  std::vector<const MemoryTier*> order;
  for (const auto& [name, tier] : registry.memories) order.push_back(&tier);
  std::ranges::sort(order, {}, [](const MemoryTier* t) { return t->latency.value; });
  for (const MemoryTier* t : order) {
    tiers.rows.push_back({t->title, t->capacity,
                          count(sequences_in(t->capacity, f.kv_sequence), ""),
                          t->latency + f.kv_sequence / t->bandwidth});
  }
  out.tables.push_back(std::move(tiers));
}

Result<Answer> ask_fit(const Arguments& a) {
  WEIR_TRY(const Fit f, work_out(a));
  Answer out;
  out.question = "fit";
  explain_sizes(f, out);
  if (f.total.value > 0) {
    out.headline = explain_pool(f, a, out);
  } else {
    out.headline = fmt::format(
        "{} takes {} of weights and {} for each token of context: {} with one sequence of {} "
        "tokens.",
        f.model.title, show(f.weights + f.overhead), show(f.kv_token),
        show(f.weights + f.overhead + f.kv_sequence), show_number(f.context));
    out.note("Name a --device, or give --memory, to see how many sequences fit.");
  }
  if (f.measured)
    out.note(
        "These are the bytes weir serve allocates for this file; --weights or --kv asks about the "
        "bare shape instead.");
  if (a.has("mean-tokens")) {
    if (a.number("mean-tokens") > f.context)
      return contradiction("is more than the context", "mean-tokens");
    add_layout(f, a.number("mean-tokens"), out);
  }
  add_ladder(f, out);
  add_tiers(f, a.registry(), out);
  add_chart(f, out);
  return out;
}

}  // namespace

Question fit_question() {
  return {
      .name = "fit",
      .summary =
          "Does it fit: weights, KV, pool, largest batch, the context ladder and the KV wall",
      .parameters = {needed(model(
                         "model", "",
                         "A model of the registry, a .gguf file, a model folder or a config.json")),
                     device("device", "", "Accelerator or CPU of the registry"),
                     whole("devices", "1", 1, 1e6, "How many of them share the model"),
                     bounded(amount("memory", Unit::kBytes, "",
                                    "Memory of one device, instead of the registry's"),
                             1e6, 1e18),
                     precision_choice("weights", "fp16", "How weights are kept"),
                     precision_choice("kv", "fp16", "How keys and values are kept"),
                     whole("context", "", 1, 1e9,
                           "Tokens of one sequence (default: the model's own)"),
                     bounded(amount("overhead", Unit::kBytes, "0B",
                                    "Activations, buffers and what else takes memory"),
                             0, 1e18),
                     bounded(amount("pool-fraction", Unit::kFraction, "0.9",
                                    "Share of the free memory that becomes KV pool"),
                             0.01, 1),
                     bounded(amount("mean-tokens", Unit::kCount, "",
                                    "Tokens a sequence has on average, to see what paging saves"),
                             1, 1e9),
                     sizes_parameter()},
      .examples = {"fit --model llama-3-70b --device h100 --devices 8 --overhead 20GB",
                   "fit --model smollm2 --memory 2GiB",
                   "fit --model llama-70b-mha --device h100 --devices 4 --weights int4 --kv int8 "
                   "--context 4096 --sizes decimal"},
      .ask = ask_fit};
}

}  // namespace weir::plan
