#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"
#include "weir/plan/disaggregation.h"

namespace weir::plan {
namespace {

/// Moving state against making it again.
void add_move(Bytes state, const Arguments& a, Answer& out) {
  const Link wire{.name = {},
                  .title = {},
                  .bandwidth = a.bandwidth("bandwidth"),
                  .latency = a.seconds("network")};
  const double shards = a.number("shards");
  const auto move = [&](Bytes b) { return wire.latency + b / wire.bandwidth; };
  out.step("handoff", "moving it whole",
           fmt::format("{} + {} / {}", show(wire.latency), show(state), show(wire.bandwidth)),
           move(state), "L_net + S_KV / B_net");
  out.step("shard_state", fmt::format("a device's part of {}", shards),
           fmt::format("{} / {}", show(state), shards), state / shards, "KV split by head");
  out.step(
      "shard_handoff", "moving the parts side by side",
      fmt::format("{} + {} / {}", show(wire.latency), show(state / shards), show(wire.bandwidth)),
      move(state / shards), "DistServe 2024");
  if (a.has("rebuild")) {
    const Seconds rebuild = a.seconds("rebuild");
    out.step("rebuild", "prefilling again instead", "given", rebuild, "given");
    // Part is moved while the rest is made again: both end together.
    const Seconds both = 1 / (1 / rebuild + 1 / move(state));
    out.step("hybrid", "moving a part while the rest is made again", "1 / (1 / move + 1 / rebuild)",
             both, "hybrid");
    out.step("move_gain", "moving is faster by",
             fmt::format("{} / {}", show(rebuild), show(move(state))),
             factor(rebuild / move(state)), "move when faster than prefill");
  }
}

void add_goodput(const Arguments& a, Bytes state, Answer& out) {
  const Model& m = a.model("model");
  const Device& d = a.device("device");
  const double n = a.number("devices");
  const Precision weights = precision(a.word("weights"));
  PhaseCosts c;
  c.prompt = a.number("prompt");
  c.output = a.number("output");
  c.weights = active_weight_bytes(m, weights) / (d.bandwidth * n);
  c.row = ops_per_token(m) / (peak(d, weights) * (n * a.number("efficiency")));
  c.kv = kv_per_token(m, precision(a.word("kv"))) * (c.prompt + c.output / 2) / (d.bandwidth * n);
  c.handoff = a.seconds("network") + state / a.number("shards") / a.bandwidth("bandwidth");
  const Slo slo{a.seconds("ttft"), a.seconds("tpot"), a.number("quantile")};
  const double replicas = a.number("replicas");
  out.step("prefill_time", "prefill of a prompt alone", "max(W / BW, 2 P prompt / peak)",
           step_time(c, c.prompt, 0), "roofline");
  out.step("step_floor", "least decode step", "W / BW", c.weights, "roofline");
  const Rate together = goodput_together(c, slo, replicas);
  out.step("together", "goodput, chunked prefill on every replica",
           fmt::format("largest rate with TTFT <= {} and TPOT <= {}", show(slo.first),
                       show(slo.between)),
           rate(together, "requests"), "Sarathi-Serve 2024");
  Table table{.title = fmt::format("{} replicas shared out", replicas),
              .columns = {"prefill", "decode", "goodput", "against together"},
              .rows = {}};
  Chart chart{.title = "Goodput by how replicas are shared out",
              .x = {"prefill replicas", false},
              .y = {"requests/s within both SLOs", false},
              .series = {{.name = "apart", .points = {}}},
              .marks = {{"chunked prefill", together.value, false}}};
  Rate best{};
  double best_prefill = 0;
  for (double p = 1; p < replicas; ++p) {
    const Rate apart = goodput_apart(c, slo, p, replicas - p);
    if (apart > best) {
      best = apart;
      best_prefill = p;
    }
    table.rows.push_back(
        {count(p, ""), count(replicas - p, ""), rate(apart, "requests"), factor(apart / together)});
    chart.series[0].points.emplace_back(p, apart.value);
  }
  out.step("apart",
           fmt::format("goodput, {} prefill and {} decode", best_prefill, replicas - best_prefill),
           "the best split", rate(best, "requests"), "DistServe 2024");
  out.step("prefill_pool", "replicas for prefill", "", count(best_prefill, "replicas"),
           "DistServe 2024");
  out.tables.push_back(std::move(table));
  out.charts.push_back(std::move(chart));
  constexpr double kWorth = 1.05;  // Two pools are more to run; less than this is not worth it.
  const bool worth = best.value > kWorth * together.value;
  if (best.value <= 0 && together.value <= 0) {
    out.headline =
        "Neither way holds both SLOs: a request alone already takes too long. More devices a "
        "replica or smaller weights are needed.";
  } else if (worth) {
    out.headline = fmt::format(
        "Disaggregate: {} prefill and {} decode replicas hold both SLOs up to {}, against {} with "
        "chunked prefill.",
        best_prefill, replicas - best_prefill, show(rate(best, "requests")),
        show(rate(together, "requests")));
  } else {
    out.headline = fmt::format(
        "Keep prefill and decode together: chunked prefill holds both SLOs up to {}, apart at most "
        "{}.",
        show(rate(together, "requests")), show(rate(best, "requests")));
  }
  out.note(
      "A first-order model: equal prompts and answers, Poisson arrivals. weir simulate runs the "
      "scheduler itself over a trace.");
}

Result<Answer> ask_disagg(const Arguments& a) {
  Answer out;
  out.question = "disagg";
  if (a.has("model") != a.has("device"))
    return contradiction("a --model and a --device go together",
                         a.has("model") ? "device" : "model");
  if (!a.has("state") && !a.has("model"))
    return contradiction("give the bytes to move, or a --model on a --device", "state");
  Bytes state{};
  if (a.has("state")) {
    state = a.bytes("state");
    out.step("state", "state to move", "given", state, "");
  } else {
    const Model& m = a.model("model");
    state = kv_per_token(m, precision(a.word("kv"))) * a.number("prompt");
    out.step("state", "state to move",
             fmt::format("{} x {}", show(count(a.number("prompt"), "tokens")),
                         show(kv_per_token(m, precision(a.word("kv"))))),
             state, "PagedAttention 2023");
  }
  add_move(state, a, out);
  if (a.has("model")) {
    add_goodput(a, state, out);
  } else {
    out.headline = fmt::format("Moving {} takes {}; split over {} devices {}.", show(state),
                               show(Seconds{out.at("handoff")}), a.number("shards"),
                               show(Seconds{out.at("shard_handoff")}));
    Chart chart{.title = "Time to move KV",
                .x = {"bytes, MB", true},
                .y = {"time, ms", true},
                .series = {},
                .marks = {{"this state", state.value / 1e6, true}}};
    for (const char* name : {"eth-10", "ib-hdr", "ib-ndr", "nvlink"}) {
      const auto link = a.registry().links.find(name);
      if (link == a.registry().links.end()) continue;
      Series line{.name = link->second.title, .points = {}};
      for (double mb = 1; mb <= 1e5; mb *= 10)
        line.points.emplace_back(
            mb, (link->second.latency + megabytes(mb) / link->second.bandwidth).value * 1e3);
      chart.series.push_back(std::move(line));
    }
    out.charts.push_back(std::move(chart));
  }
  return out;
}

}  // namespace

Question disagg_question() {
  return {
      .name = "disagg",
      .summary =
          "Prefill and decode apart or together: the hand-over, the pools, goodput both ways",
      .parameters =
          {bounded(
               amount("state", Unit::kBytes, "", "Bytes to move (default: the KV of the prompt)"),
               1, 1e17),
           bounded(amount("bandwidth", Unit::kBandwidth, "100Gbit/s", "Network between the pools"),
                   1e3, 1e16),
           bounded(amount("network", Unit::kSeconds, "0s", "Latency of the network"), 0, 100),
           whole("shards", "8", 1, 65536, "Devices of a replica that each send their part"),
           bounded(amount("rebuild", Unit::kSeconds, "", "Time to prefill again instead"), 1e-6,
                   1e5),
           model("model", "", "A model, to compare goodput"),
           device("device", "", "... on this device"),
           whole("devices", "8", 1, 1e6, "Devices of a replica"),
           whole("replicas", "8", 2, 1000, "Replicas to share out"),
           precision_choice("weights", "fp16", "How weights are kept"),
           precision_choice("kv", "fp16", "How keys and values are kept"),
           bounded(amount("efficiency", Unit::kFraction, "0.5",
                          "Share of the peak operations that is reached"),
                   0.001, 1),
           whole("prompt", "4096", 1, 1e8, "Tokens of a prompt"),
           whole("output", "256", 1, 1e8, "Tokens of an answer"),
           bounded(amount("ttft", Unit::kSeconds, "2s", "SLO of the first token"), 1e-4, 1e5),
           bounded(amount("tpot", Unit::kSeconds, "50ms", "SLO between tokens"), 1e-5, 1e4),
           bounded(
               amount("quantile", Unit::kFraction, "0.99", "Share of requests that must hold it"),
               0.5, 0.99999)},
      .examples =
          {"disagg --state 100MB",
           "disagg --model llama-3-70b --device h100 --prompt 4096 --output 256 --rebuild 500ms"},
      .ask = ask_disagg};
}

}  // namespace weir::plan
