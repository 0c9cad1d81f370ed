#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"
#include "weir/policy/step_cost.h"

namespace weir::plan {
namespace {

/// The parts of a path, their sum, and whether it keeps within a budget.
Seconds add_path(const std::vector<std::pair<std::string, double>>& parts, const char* title,
                 Answer& out) {
  Table table{.title = title, .columns = {"part", "time", "share"}, .rows = {}};
  Seconds sum{};
  for (const auto& [name, time] : parts) sum += Seconds{time};
  for (const auto& [name, time] : parts)
    table.rows.push_back({name, Seconds{time}, share(time / sum.value)});
  out.tables.push_back(std::move(table));
  return sum;
}

struct Times {
  Seconds first, each;
};

Result<Times> token_times(const Arguments& a, Answer& out) {
  if (a.has("ttft") || a.has("tpot")) {
    if (!a.has("ttft") || !a.has("tpot"))
      return contradiction("--ttft and --tpot go together", a.has("ttft") ? "tpot" : "ttft");
    return Times{a.seconds("ttft"), a.seconds("tpot")};
  }
  if (!a.has("model") || !a.has("device"))
    return contradiction("give it with --tpot, or a --model on a --device", "ttft");
  const DecodeStep step{.model = a.model("model"),
                        .device = a.device("device"),
                        .devices = a.number("devices"),
                        .weights = precision(a.word("weights")),
                        .kv = precision(a.word("kv")),
                        .efficiency = a.number("efficiency")};
  const double prompt = a.number("prompt");
  const double batch = a.number("batch");
  const double context = prompt + a.number("output") / 2;
  // Attention over the prompt: 4 L H d for each pair of positions (half of them, causally).
  const Model& m = step.model;
  const OpRate rate = peak(step.device, step.weights) * (step.devices * step.efficiency);
  const Seconds attention = ops(2 * m.layers * m.heads * m.head_dim * prompt * prompt) / rate;
  const Seconds prefill = step.prefill(prompt) + attention;
  const Seconds decode = step.time(batch, batch * context) + step.device.dispatch * m.layers;
  out.step("prefill", "prefill",
           fmt::format("max(weights / BW, 2 x {} x {} / {}) + attention {}", show_number(prompt),
                       show(count(m.active, "")), show(rate), show(attention)),
           prefill, "roofline");
  out.step(
      "decode_step", "one decode step",
      fmt::format("max(W / BW, 2 B P / peak) + KV of {} x {} tokens / BW + {} layers x {}",
                  show_number(batch), show_number(context), m.layers, show(step.device.dispatch)),
      decode, "roofline");
  const double chunk_target = a.number("tbt");
  const policy::StepCost cost({active_weight_bytes(m, step.weights).value, ops_per_token(m).value,
                               kv_per_token(m, step.kv).value},
                              {(step.device.bandwidth * step.devices).value, rate.value, 0});
  const auto rows = cost.rows_within(from_seconds(chunk_target),
                                     {static_cast<std::uint32_t>(std::min(batch, 1e6)),
                                      static_cast<std::uint64_t>(batch * context)},
                                     1U << 20);
  out.step("chunk",
           fmt::format("prefill chunk beside {} decodes so that a step takes at most {}",
                       show_number(batch), show(Seconds{chunk_target})),
           "largest C with T_step(B_dec + C) <= target",
           count(std::max(0.0, rows - batch), "tokens"), "Sarathi-Serve 2024");
  return Times{prefill + decode, decode};
}

Result<Answer> ask_latency(const Arguments& a) {
  Answer out;
  out.question = "latency";
  if (a.has("stream")) {
    const Seconds sum = add_path(a.pairs("stream"), "One frame through the pipeline", out);
    const Seconds budget = a.seconds("budget");
    const Seconds frame = a.seconds("frame");
    Seconds longest{};
    for (const auto& [name, time] : a.pairs("stream")) longest = std::max(longest, Seconds{time});
    out.step("stream_total", "through the whole pipeline", "sum of the parts", sum, "frame budget");
    out.step("stream_left", "left of the budget", fmt::format("{} - {}", show(budget), show(sum)),
             budget - sum, "frame budget");
    out.step("stream_depth", "frames under way at once",
             fmt::format("ceil({} / {})", show(sum), show(frame)),
             count(std::ceil(sum / frame * (1 - 1e-12)), "frames"), "pipeline depth");
    out.headline =
        fmt::format("A frame takes {} of a budget of {}: {}.", show(sum), show(budget),
                    sum <= budget ? fmt::format("{} are left", show(budget - sum)) : "too slow");
    if (longest > frame)
      out.note(fmt::format(
          "The longest stage ({}) is slower than a frame every {}: it needs {} workers to keep up.",
          show(longest), show(frame), std::ceil(longest / frame)));
    Chart chart{.title = "Where the frame's budget goes",
                .x = {"stages passed", false},
                .y = {"time, ms", false},
                .series = {{.name = "so far", .points = {{0, 0}}}},
                .marks = {{"budget", budget.value * 1e3, false}}};
    double so_far = 0;
    double stage = 0;
    for (const auto& [name, time] : a.pairs("stream"))
      chart.series[0].points.emplace_back(++stage, (so_far += time) * 1e3);
    out.charts.push_back(std::move(chart));
    return out;
  }
  WEIR_TRY(const Times t, token_times(a, out));
  if (a.has("prefill-rate")) {
    out.step("chunk_by_rate", "prefill chunk that fits the step target",
             fmt::format("{} x {}", show(rate(a.rate("prefill-rate"), "tokens")),
                         show(a.seconds("tbt"))),
             count(std::floor(a.rate("prefill-rate") * a.seconds("tbt") * (1 + 1e-12)), "tokens"),
             "Sarathi-Serve 2024");
  }
  const double tokens = a.number("output");
  const double thinking = a.has("thinking") ? a.number("thinking") : 0;
  const Seconds answer = t.first + t.each * (tokens - 1);
  out.step("ttft", "first token", "prefill and one decode step", t.first, "request path");
  out.step("tpot", "each further token", "", t.each, "request path");
  out.step("answer", fmt::format("an answer of {} tokens", show_number(tokens)),
           fmt::format("{} + ({} - 1) x {}", show(t.first), show_number(tokens), show(t.each)),
           answer, "TTFT + (N - 1) TPOT");
  Seconds total = answer;
  if (thinking > 0) {
    out.step("thinking", fmt::format("{} tokens of thinking first", show_number(thinking)),
             fmt::format("{} x {}", show_number(thinking), show(t.each)), t.each * thinking,
             "test-time compute");
    total += t.each * thinking;
  }
  Seconds tax{};
  if (a.has("tax")) {
    tax = add_path(a.pairs("tax"), "Serving tax", out);
    total += tax;
    out.step("tax", "serving tax", "network + serialisation + coordination + queue", tax,
             "request path");
    out.step("tax_share", "of the total", fmt::format("{} / {}", show(tax), show(total)),
             share(tax / total), "10 to 30 % is usual");
  }
  out.step("total", "in all", "T_compute + T_network + T_serialisation + T_coordination + T_queue",
           total, "request path");
  out.headline = fmt::format(
      "First token of the answer after {}, then one every {}: {} for {} tokens.",
      show(t.first + t.each * thinking + tax), show(t.each), show(total), show_number(tokens));
  Chart chart{.title = "Time to an answer",
              .x = {"tokens of the answer", false},
              .y = {"time, s", false},
              .series = {{.name = "direct", .points = {}}},
              .marks = {}};
  const double first = (t.first + tax).value;
  for (double n : {1.0, tokens})
    chart.series[0].points.emplace_back(n, first + t.each.value * (n - 1));
  if (thinking > 0) {
    chart.series.push_back({.name = "thinking first", .points = {}});
    for (double n : {1.0, tokens})
      chart.series[1].points.emplace_back(n, first + t.each.value * (n - 1 + thinking));
  }
  if (a.has("slo")) {
    chart.marks.push_back({"SLO", a.number("slo"), false});
    const double room = ((a.seconds("slo") - tax - t.first) / t.each) + 1;
    out.step("tokens_in_slo", "tokens that fit the SLO", "(SLO - tax - TTFT) / TPOT + 1",
             count(std::max(0.0, std::floor(room * (1 + 1e-12))), "tokens"),
             "budget of thinking and answer");
  }
  out.charts.push_back(std::move(chart));
  return out;
}

}  // namespace

Question latency_question() {
  return {.name = "latency",
          .summary =
              "Where time goes: first token and each next, the serving tax, thinking, the frame "
              "budget of a stream",
          .parameters =
              {bounded(amount("ttft", Unit::kSeconds, "", "Time to the first token, when known"),
                       1e-6, 1e6),
               bounded(amount("tpot", Unit::kSeconds, "", "Time of each further token, when known"),
                       1e-6, 1e6),
               model("model", "", "Or a model, whose times are worked out"),
               device("device", "", "... on this device"),
               whole("devices", "1", 1, 1e6, "How many devices share it"),
               precision_choice("weights", "fp16", "How weights are kept"),
               precision_choice("kv", "fp16", "How keys and values are kept"),
               bounded(amount("efficiency", Unit::kFraction, "0.5",
                              "Share of the peak operations that is reached"),
                       0.001, 1),
               whole("prompt", "1024", 1, 1e8, "Tokens of the prompt"),
               whole("output", "256", 1, 1e8, "Tokens of the answer"),
               whole("batch", "1", 1, 1e6, "Sequences that decode together"),
               bounded(amount("prefill-rate", Unit::kRate, "",
                              "Measured prefill speed in tokens/s, for the chunk"),
                       1e-3, 1e12),
               bounded(amount("tbt", Unit::kSeconds, "50ms",
                              "Longest step, to choose the prefill chunk"),
                       1e-5, 1e4),
               whole("thinking", "", 1, 1e8, "Tokens of thinking before the answer"),
               bounded(pairs("tax", Unit::kSeconds, "",
                             "Parts of the serving tax: network=1ms,queue=5ms"),
                       0, 1e5),
               bounded(amount("slo", Unit::kSeconds, "", "Longest time of a request"), 1e-6, 1e6),
               bounded(pairs("stream", Unit::kSeconds, "",
                             "A stream's stages instead: network=20ms,encoder=30ms"),
                       0, 1e5),
               bounded(amount("frame", Unit::kSeconds, "20ms", "Time between frames of the stream"),
                       1e-6, 1e4),
               bounded(amount("budget", Unit::kSeconds, "100ms", "Longest time of a frame"), 1e-6,
                       1e4)},
          .examples =
              {"latency --model llama-3-8b --device h100 --prompt 1024 --output 256",
               "latency --ttft 100ms --tpot 100ms --output 1 --thinking 128",
               "latency --stream "
               "capture=0ms,network=20ms,mfcc=5ms,encoder=30ms,decoder=15ms,format=5ms,back=15ms"},
          .ask = ask_latency};
}

}  // namespace weir::plan
