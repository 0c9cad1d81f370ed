#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"
#include "weir/plan/batching.h"
#include "weir/plan/hadamard.h"

namespace weir::plan {
namespace {

/// One way to keep a model, on the machine asked about.
struct Way {
  const char* name;
  const char* method;
  const char* weights;  ///< Precision.
  const char* kv;
  const char* runs;  ///< Precision that the products run in.
};

constexpr Way kWays[] = {{"FP16", "as trained", "fp16", "fp16", "fp16"},
                         {"W8A8", "SmoothQuant", "int8", "fp16", "int8"},
                         {"W4A16", "GPTQ or AWQ", "int4", "fp16", "fp16"},
                         {"W4A16 + KV8", "GPTQ or AWQ, KIVI", "int4", "int8", "fp16"},
                         {"W4A4", "QuaRot, SpinQuant", "int4", "int4", "int4"}};

struct Outcome {
  Bytes weights_each, room_each, kv_each;
  double batch = 0;
  Seconds prefill, decode;
};

Outcome outcome_of(const Way& way, const Arguments& a) {
  const Model& m = a.model("model");
  const Device& d = a.device("device");
  const double n = a.number("devices");
  Outcome o;
  o.weights_each = weight_bytes(m, precision(way.weights)) / n;
  o.room_each =
      bytes(std::max(0.0, (memory_of(d, a.word("sizes") == "decimal") - o.weights_each).value));
  o.kv_each = kv_per_token(m, precision(way.kv)) * a.number("context") / n;
  o.batch = sequences_in(o.room_each, o.kv_each);
  const Bandwidth bw = d.bandwidth * n;
  const OpRate rate = peak(d, precision(way.runs)) * (n * a.number("efficiency"));
  const Bytes active = active_weight_bytes(m, precision(way.weights));
  o.prefill = std::max(active / bw, ops_per_token(m) * a.number("prompt") / rate);
  const double b = a.number("batch");
  o.decode = std::max(active / bw, ops_per_token(m) * b / rate) +
             kv_per_token(m, precision(way.kv)) * (b * a.number("context")) / bw;
  return o;
}

void add_rotation(const std::vector<double>& values, Answer& out) {
  const auto rotated = hadamard(values);
  Table table{
      .title = "A Hadamard rotation spreads outliers", .columns = {"before", "after"}, .rows = {}};
  for (std::size_t i = 0; i < values.size(); ++i)
    table.rows.push_back({ratio(values[i]), ratio(rotated[i])});
  const auto top = [](const std::vector<double>& v) {
    return std::abs(*std::ranges::max_element(v, {}, [](double x) { return std::abs(x); }));
  };
  out.step("outlier_before", "largest value before", "", ratio(top(values)), "QuaRot 2024");
  out.step("outlier_after", "largest value after", "x H / sqrt(n)", ratio(top(rotated)),
           "QuaRot 2024");
  out.tables.push_back(std::move(table));
}

Result<Answer> ask_quantize(const Arguments& a) {
  Answer out;
  out.question = "quantize";
  const Model& m = a.model("model");
  const Outcome base = outcome_of(kWays[0], a);
  out.step("weights_each", "FP16 weights on each device",
           fmt::format("{} x 2 B / {}", show(count(m.parameters, "")), a.number("devices")),
           base.weights_each, "memory budget");
  out.step("room_each", "left for KV on each device", "memory - weights", base.room_each,
           "memory budget");
  out.step("kv_each", "KV of a request on each device",
           fmt::format("{} tokens", show_number(a.number("context"))), base.kv_each,
           "memory budget");
  out.step("batch", "requests at once, FP16", "floor(left / KV)", count(base.batch, "requests"),
           "memory budget");
  const Outcome small = outcome_of(kWays[3], a);
  out.step("small_weights_each", "W4 weights on each device", "4 bits", small.weights_each,
           "memory budget");
  out.step("small_room_each", "left for KV then", "memory - weights", small.room_each,
           "memory budget");
  out.step("small_kv_each", "KV of a request, 8 bits", "", small.kv_each, "KIVI 2024");
  out.step("small_batch", "requests at once, W4 + KV8", "floor(left / KV)",
           count(small.batch, "requests"), "precision dividend");

  const double bound = compute_bound_batch(
      active_weight_bytes(m, precision("fp16")), a.device("device").bandwidth, ops_per_token(m),
      peak(a.device("device"), precision("fp16")) * a.number("efficiency"));
  out.step("compute_bound", "decode turns compute-bound at", "(W / BW) x peak / (2 P)",
           count(std::ceil(bound), "rows"), "roofline");
  const Seconds prefill_all = base.prefill;
  const Seconds decode_all = base.decode * a.number("output") / a.number("batch");
  out.step("prefill_share", "share of a request's device time in prefill",
           "prefill / (prefill + tokens x step / batch)",
           share(prefill_all / (prefill_all + decode_all)), "which resource binds");
  std::string binding, method;
  if (a.word("outliers") == "yes") {
    binding = "outliers in the activations",
    method = "rotation (QuaRot W4A4, or SpinQuant): about 3 % overhead, no calibration";
  } else if (base.batch < 1) {
    binding = "placement: FP16 does not fit", method = "W4A16 (GPTQ or AWQ, group 128)";
  } else if (prefill_all > decode_all || a.number("batch") > bound) {
    binding = "operations, in prefill or a large batch",
    method = "W8A8 (SmoothQuant, or FP8 where the hardware has it)";
  } else {
    binding = "bandwidth of decode", method = "W4A16 (GPTQ or AWQ, group 128)";
  }
  if (out.at("prefill_share") <= 0.5 && base.batch >= 1 &&
      base.kv_each * a.number("batch") > base.weights_each)
    method += ", and 8-bit KV: keys and values are read more than weights";
  out.headline = fmt::format(
      "What binds is {}: take {}. Requests at once: {} in FP16, {} with W4 and 8-bit KV.", binding,
      method, show_number(base.batch), show_number(small.batch));

  Table table{
      .title = fmt::format("{} on {} {}", m.title, a.number("devices"), a.device("device").title),
      .columns = {"kept as", "method", "weights each", "requests", "prefill", "decode step",
                  "decode faster"},
      .rows = {}};
  Chart chart{.title = "Requests that fit, by how the model is kept",
              .x = {"bits of a weight", false},
              .y = {"requests at once", false},
              .series = {{.name = "FP16 KV", .points = {}}, {.name = "8-bit KV", .points = {}}},
              .marks = {}};
  for (const Way& way : kWays) {
    const Outcome o = outcome_of(way, a);
    table.rows.push_back({std::string(way.name), std::string(way.method), o.weights_each,
                          count(o.batch, ""), o.prefill, o.decode, factor(base.decode / o.decode)});
  }
  for (const char* bits : {"int4", "int8", "fp16"}) {
    chart.series[0].points.emplace_back(precision(bits).bits,
                                        outcome_of({"", "", bits, "fp16", "fp16"}, a).batch);
    chart.series[1].points.emplace_back(precision(bits).bits,
                                        outcome_of({"", "", bits, "int8", "fp16"}, a).batch);
  }
  out.tables.push_back(std::move(table));
  if (a.has("rotate")) {
    const auto& values = a.numbers("rotate");
    if ((values.size() & (values.size() - 1)) != 0)
      return contradiction("needs 1, 2, 4, 8, ... values", "rotate");
    add_rotation(values, out);
  }
  out.charts.push_back(std::move(chart));
  out.note(
      "Published losses (Llama-2-70B perplexity, FP16 3.12): SmoothQuant W8A8 +0.06, GPTQ W4A16 "
      "+0.12, QuaRot W4A4 +0.19. Check on your own text before and after.");
  out.note(
      "Calibration: 128 to 256 samples, group size 128. A kernel must run the low-precision path: "
      "where the device has none for a width, the figures above use its FP16 rate.");
  return out;
}

}  // namespace

Question quantize_question() {
  return {
      .name = "quantize",
      .summary =
          "Which quantisation: the resource that binds names the method; what the saved memory "
          "brings",
      .parameters = {model("model", "llama-3-70b", "The model"),
                     device("device", "h100", "Where it runs"),
                     whole("devices", "4", 1, 1e6, "How many devices share it"),
                     whole("context", "4096", 1, 1e9, "Tokens of a request"),
                     whole("prompt", "1024", 1, 1e8, "Of them, the prompt"),
                     whole("output", "256", 1, 1e8, "Tokens of an answer"),
                     whole("batch", "8", 1, 1e6, "Requests that decode together"),
                     bounded(amount("efficiency", Unit::kFraction, "0.5",
                                    "Share of the peak operations that is reached"),
                             0.001, 1),
                     choice("outliers", {"no", "yes"}, "no",
                            "Whether activations have outliers that 8 bits cannot hold"),
                     bounded(
                         amounts("rotate", Unit::kNone, "",
                                 "Values to rotate by a Hadamard matrix, to see outliers spread"),
                         -1e9, 1e9),
                     sizes_parameter()},
      .examples = {"quantize --model llama-70b-mha --devices 4 --sizes decimal",
                   "quantize --rotate 1000,1,1,1"},
      .ask = ask_quantize};
}

}  // namespace weir::plan
