#include <algorithm>
#include <array>
#include <cmath>

#include "weir/plan/ask_common.h"
#include "weir/plan/collectives.h"

namespace weir::plan {
namespace {

constexpr double kNodeDevices = 8;

/// All-reduce of one message over every link that is known.
void add_links(const Arguments& a, Seconds layer, Answer& out) {
  const double n = a.number("degree");
  const Bytes message = a.bytes("message");
  Table table{
      .title = fmt::format("All-reduce of {} over {} devices", show(message), n),
      .columns = {"link", "bandwidth", "alpha", "by bandwidth alone", "with alpha", "of a layer"},
      .rows = {}};
  std::vector<const Link*> order;
  for (const auto& [name, link] : a.registry().links) order.push_back(&link);
  std::ranges::sort(order, std::greater{}, [](const Link* l) { return l->bandwidth.value; });
  for (const Link* l : order) {
    const Seconds whole_time = all_reduce(n, message, *l);
    const Seconds bandwidth_only = message / l->bandwidth * (2 * (n - 1) / n);
    table.rows.push_back({l->title, l->bandwidth, l->latency, bandwidth_only, whole_time,
                          share(whole_time / layer)});
  }
  out.tables.push_back(std::move(table));
  const Link& link = a.link("link");
  out.step("all_reduce",
           fmt::format("all-reduce of {} over {} devices, {}", show(message), n, link.title),
           "2 (N - 1) alpha + 2 (N - 1) / N x M / beta", all_reduce(n, message, link),
           "Thakur 2005, ring");
  out.step("all_reduce_bandwidth", "of it, by bandwidth alone", "2 (N - 1) / N x M / beta",
           message / link.bandwidth * (2 * (n - 1) / n), "alpha-beta model");
  out.step("all_to_all", "all-to-all of as much", "(N - 1) (alpha + (M / N) / beta)",
           all_to_all(n, message, link), "mixture of experts");
  out.step("hand_over", "point to point of as much", "alpha + M / beta",
           point_to_point(message, link), "alpha-beta model");
}

/// One layer split by tensor parallelism, and the stack of them.
void add_layer(const Arguments& a, Answer& out) {
  const double n = a.number("degree");
  Seconds whole_layer{};
  for (const auto& [name, time] : a.pairs("layer")) whole_layer += Seconds{time};
  const Seconds reduce =
      a.has("reduce") ? a.seconds("reduce") : all_reduce(n, a.bytes("message"), a.link("link"));
  const Seconds overlap = a.seconds("overlap");
  const Seconds split = whole_layer / n + reduce * 2 - std::min(overlap, reduce * 2);
  const double layers = a.has("model") ? a.model("model").layers : a.number("layers");
  out.step("layer", "a layer on one device", "sum of its parts", whole_layer, "");
  out.step("layer_split", fmt::format("a layer on {} devices", n),
           fmt::format("{} / {} + 2 x {} - {}", show(whole_layer), n, show(reduce), show(overlap)),
           split, "Megatron-LM 2019");
  out.step("layer_speedup", "faster", fmt::format("{} / {}", show(whole_layer), show(split)),
           factor(whole_layer / split), "Megatron-LM 2019");
  out.step("stack", fmt::format("all {} layers, one device", layers), "", whole_layer * layers, "");
  out.step("stack_split", fmt::format("all {} layers, {} devices", layers, n), "", split * layers,
           "Megatron-LM 2019");
  Chart chart{.title = "Tensor parallelism: what more devices bring",
              .x = {"devices", true},
              .y = {"times faster than one device", true},
              .series = {},
              .marks = {}};
  for (const char* name : {"nvlink", "pcie5", "ib-hdr", "eth-100"}) {
    const auto link = a.registry().links.find(name);
    if (link == a.registry().links.end()) continue;
    Series line{.name = link->second.title, .points = {}};
    for (double d = 1; d <= 64; d *= 2) {
      const Seconds comm = d > 1 ? all_reduce(d, a.bytes("message"), link->second) * 2 : Seconds{};
      line.points.emplace_back(d, whole_layer / (whole_layer / d + comm));
    }
    chart.series.push_back(std::move(line));
  }
  chart.series.push_back({.name = "ideal", .points = {{1, 1}, {64, 64}}, .dashed = true});
  out.charts.push_back(std::move(chart));
}

/// Nodes, bytes a token and time a token of a model on whole nodes.
void add_model(const Arguments& a, Answer& out) {
  const Model& m = a.model("model");
  const Device& d = a.device("device");
  const Precision p = precision(a.word("weights"));
  const bool decimal = a.word("sizes") == "decimal";
  const Bytes weights = weight_bytes(m, p);
  const Bytes each = memory_of(d, decimal);
  const double degree = std::ceil(weights / (each * a.number("room")) * (1 - 1e-12));
  out.step("weights", "weights",
           fmt::format("{} x {} bits / 8", show(count(m.parameters, "")), p.bits), weights,
           "memory budget");
  out.step("min_degree", "devices to hold them",
           fmt::format("ceil({} / ({} x {}))", show(weights), show(each), a.number("room")),
           count(degree, "devices"), "memory and roofline");
  const double nodes = std::ceil(weights / (each * kNodeDevices * a.number("room")) * (1 - 1e-12));
  const double devices = a.given("degree")
                             ? std::max(a.number("degree"), degree)
                             : (degree <= kNodeDevices ? degree : nodes * kNodeDevices);
  out.step("nodes", fmt::format("nodes of {} devices", kNodeDevices),
           fmt::format("ceil({} / {})", show(weights), show(each * kNodeDevices)),
           count(nodes, "nodes"), "memory and roofline");
  const Bytes active = active_weight_bytes(m, p);
  out.step("active", "weights one token passes through",
           fmt::format("{} x {} bits / 8", show(count(m.active, "")), p.bits), active,
           "memory and roofline");
  out.step("active_each", "of them on each device", fmt::format("{} / {}", show(active), devices),
           active / devices, "memory and roofline");
  const Seconds read = active / devices / d.bandwidth;
  const Seconds talk = a.seconds("communication");
  out.step("read_time", "time to read them",
           fmt::format("{} / {}", show(active / devices), show(d.bandwidth)), read,
           "memory and roofline");
  out.step("token_time", "a token", fmt::format("{} + {} communication", show(read), show(talk)),
           read + talk, "memory and roofline");
  out.step("token_rate", "tokens of one sequence", "1 / time of a token",
           rate(1 / (read + talk), "tokens"), "memory and roofline");
  if (m.experts > 0)
    out.step("moe_saving", "fewer bytes and operations than a dense model of 400B",
             "800 GB / active at 16 bits", factor(gigabytes(800) / bytes(m.active * 2)),
             "mixture of experts");
  const double tensor =
      std::min({devices, kNodeDevices, m.kv_latent > 0 ? kNodeDevices : m.kv_heads});
  const double pipeline = std::ceil(devices / tensor);
  std::string advice = fmt::format("tensor parallel {} inside a node", tensor);
  if (m.experts > 0 && devices > tensor) {
    advice = fmt::format("experts over {} devices, attention tensor parallel {} (EP x TP)", devices,
                         tensor);
  } else if (pipeline > 1) {
    advice = fmt::format("tensor parallel {} inside a node, pipeline parallel {} across (TP x PP)",
                         tensor, pipeline);
  } else if (devices <= 1) {
    advice = "no sharding: replicas serve more for the same devices";
  }
  out.headline =
      fmt::format("{} takes {}: at least {} of {}, {} a token. Use {}.", m.title, show(weights),
                  show(count(degree, "devices")), d.title, show(read + talk), advice);
}

/// A mixture-of-experts layer by its parts, and what an uneven gate costs.
void add_experts(const Arguments& a, Answer& out) {
  Seconds sum{};
  for (const auto& [name, time] : a.pairs("moe")) sum += Seconds{time};
  out.step("moe_layer", "an expert layer", "gate + all-to-all + expert + gather", sum,
           "mixture of experts");
  Table table{.title = "Uneven gates", .columns = {"imbalance", "use of the devices"}, .rows = {}};
  for (double imbalance : {0.0, 0.2, 0.5, 1.0})
    table.rows.push_back({share(imbalance), share(1 / (1 + imbalance))});
  out.tables.push_back(std::move(table));
}

/// Where the rows of an embedding table go by how often they are asked for.
void add_embeddings(const Arguments& a, Answer& out) {
  const Bytes table_bytes = a.bytes("embeddings");
  const double shards = a.number("shards");
  struct Tier {
    const char* name;
    double part;
    const char* layout;
    double copies;  ///< Of each row, over the shards.
  };
  const std::array<Tier, 3> tiers = {{{"hot", 0.01, "a copy on every shard", shards},
                                      {"warm", 0.10, "columns over 8 shards", 1},
                                      {"cold", 0.89, "rows over all shards, on SSD", 1}}};
  Table table{.title = "Embedding tiers",
              .columns = {"tier", "rows", "bytes", "layout", "on each shard"},
              .rows = {}};
  Bytes each{};
  for (const Tier& t : tiers) {
    const Bytes part = table_bytes * t.part;
    each += part * (t.copies / shards);
    table.rows.push_back({std::string(t.name), share(t.part), part, std::string(t.layout),
                          part * (t.copies / shards)});
  }
  out.tables.push_back(std::move(table));
  out.step("embedding_shards", "shards to hold the table",
           fmt::format("ceil({} / {})", show(table_bytes), show(a.bytes("shard-memory"))),
           count(std::ceil(table_bytes / a.bytes("shard-memory") * (1 - 1e-12)), "shards"),
           "memory and roofline");
  out.step("embedding_each", "on each shard, hot rows copied", "sum of the tiers", each,
           "embedding tiers");
  const double lookups = a.number("lookups");
  const Rate queries = a.rate("queries");
  const double window = a.number("window");
  out.step("shard_lookups", "lookups a shard answers",
           fmt::format("{} x {} / {}", show(rate(queries, "")), show_number(lookups), shards),
           rate(queries * lookups / shards, "lookups"), "feature-parallel batching");
  out.step("window_requests", "requests gathered in a window",
           fmt::format("{} x {}", show(rate(queries, "")), show(Seconds{window})),
           count(queries.value * window, "requests"), "feature-parallel batching");
  out.step("window_lookups", "lookups a shard gets in one call", "",
           count(queries.value * window * lookups / shards, "lookups"),
           "feature-parallel batching");
}

Result<Answer> ask_shard(const Arguments& a) {
  Answer out;
  out.question = "shard";
  Seconds layer{};
  for (const auto& [name, time] : a.pairs("layer")) layer += Seconds{time};
  if (a.has("model") != a.has("device"))
    return contradiction("a --model and a --device go together",
                         a.has("model") ? "device" : "model");
  if (a.has("model")) add_model(a, out);
  add_layer(a, out);
  add_links(a, layer, out);
  if (a.has("moe")) add_experts(a, out);
  if (a.has("embeddings")) {
    if (!a.has("queries")) return contradiction("is needed with --embeddings", "queries");
    add_embeddings(a, out);
  }
  if (out.headline.empty()) {
    out.headline = fmt::format(
        "Split {} ways a layer of {} takes {} ({} faster), {} of it in two all-reduces.",
        a.number("degree"), show(Seconds{out.at("layer")}), show(Seconds{out.at("layer_split")}),
        show(factor(out.at("layer_speedup"))),
        show((a.has("reduce") ? a.seconds("reduce") : Seconds{out.at("all_reduce")}) * 2));
  }
  Table choices{.title = "Which way to split",
                .columns = {"", "tensor", "pipeline", "expert", "embedding"},
                .rows = {}};
  choices.rows = {{std::string("for"), std::string("latency"), std::string("throughput"),
                   std::string("mixture of experts"), std::string("lookup tables")},
                  {std::string("latency"), std::string("best: / N"), std::string("unchanged"),
                   std::string("moderate"), std::string("one round trip")},
                  {std::string("traffic"), std::string("2 all-reduces a layer"),
                   std::string("1 hand-over a stage"), std::string("2 all-to-alls a layer"),
                   std::string("1 call a shard")},
                  {std::string("slow links"), std::string("poor"), std::string("good"),
                   std::string("poor"), std::string("good")}};
  out.tables.push_back(std::move(choices));
  return out;
}

}  // namespace

Question shard_question() {
  return {
      .name = "shard",
      .summary =
          "How to split a model: least degree, tensor, pipeline and expert parallelism, links, "
          "embedding tiers",
      .parameters =
          {model("model", "", "A model to place"),
           device("device", "", "... on this device"),
           precision_choice("weights", "fp16", "How weights are kept"),
           bounded(amount("room", Unit::kFraction, "0.9",
                          "Share of a device's memory that weights may take"),
                   0.01, 1),
           whole("degree", "8", 1, 65536, "Devices that share a layer"),
           bounded(pairs("layer", Unit::kSeconds, "attention=12ms,feed-forward=18ms",
                         "Parts of a layer on one device"),
                   1e-9, 1e4),
           whole("layers", "80", 1, 1e5, "Layers, without a --model"),
           bounded(amount("reduce", Unit::kSeconds, "", "Time of one all-reduce, when measured"), 0,
                   1e4),
           bounded(amount("overlap", Unit::kSeconds, "0s",
                          "How much of the all-reduces hides behind computing"),
                   0, 1e4),
           bounded(amount("message", Unit::kBytes, "8MB", "Bytes of one all-reduce"), 1, 1e15),
           link("link", "nvlink", "How the devices speak to each other"),
           bounded(
               amount("communication", Unit::kSeconds, "0.3ms", "All communication of one token"),
               0, 1e3),
           bounded(pairs("moe", Unit::kSeconds, "",
                         "Parts of an expert layer: gate=0.1ms,all-to-all=0.2ms"),
                   0, 1e4),
           bounded(amount("embeddings", Unit::kBytes, "", "Bytes of an embedding table"), 1, 1e19),
           whole("shards", "1000", 1, 1e6, "Shards of the table"),
           bounded(amount("shard-memory", Unit::kBytes, "100GB", "Memory of one shard"), 1e6, 1e17),
           bounded(amount("queries", Unit::kRate, "", "Requests a second that look rows up"), 1e-6,
                   1e12),
           whole("lookups", "5000", 1, 1e9, "Lookups of one request"),
           bounded(amount("window", Unit::kSeconds, "1ms", "How long lookups are gathered"), 1e-6,
                   10),
           sizes_parameter()},
      .examples = {"shard --model llama-3-70b --device h100",
                   "shard --model deepseek-v3 --device h100 --weights fp8 --sizes decimal",
                   "shard --degree 8 --message 8MB --link ib-hdr",
                   "shard --embeddings 100TB --queries 10M --shards 1000"},
      .ask = ask_shard};
}

}  // namespace weir::plan
