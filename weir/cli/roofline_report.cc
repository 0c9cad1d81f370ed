#include "weir/cli/roofline_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "weir/base/bytes.h"
#include "weir/cli/kernel_report.h"
#include "weir/compute/peak_loops.h"

namespace weir::cli {
namespace {

namespace json = boost::json;
using compute::Resource;

constexpr const char* kRoofline = "Williams et al., CACM 2009";

struct ResourceInfo {
  Resource resource;
  const char* name;  ///< For programs.
  const char* unit;
  double scale;
};
constexpr ResourceInfo kResources[] = {
    {Resource::kMemory, "memory_read", "GB/s", 1e9},
    {Resource::kWeights, "weights_read", "GB/s", 1e9},
    {Resource::kTriad, "triad", "GB/s", 1e9},
    {Resource::kL3, "l3_read", "GB/s", 1e9},
    {Resource::kL2, "l2_read", "GB/s", 1e9},
    {Resource::kInt8, "int8_dot", "Gop/s", 1e9},
    {Resource::kBf16, "bf16_dot", "Gop/s", 1e9},
    {Resource::kF32, "f32_fma", "Gop/s", 1e9},
    {Resource::kBarrier, "barrier", "M/s", 1e6},
};
const ResourceInfo& info_of(Resource resource) {
  return *std::ranges::find(kResources, resource, &ResourceInfo::resource);
}

std::string peak_name(const char* what, compute::Peak peak) {
  const auto loop = compute::peak_loop(peak);
  return fmt::format("{}{}", what, loop ? fmt::format(", {}", loop->instruction) : "");
}

std::string title_of(Resource resource, const MeasuredMachine& m) {
  switch (resource) {
    case Resource::kMemory:
      return fmt::format("memory, read of {}", format_bytes(m.buffer_bytes));
    case Resource::kWeights:
      return fmt::format("the same, of {}", format_bytes(m.weight_set));
    case Resource::kTriad:
      return "STREAM triad, stores past the caches";
    case Resource::kL3:
      return fmt::format("L3, read of {}", format_bytes(m.l3_bytes * 5 / 8));
    case Resource::kL2:
      return fmt::format("L2, read of {} each", format_bytes(m.l2_bytes / 2));
    case Resource::kInt8:
      return peak_name("int8 dots", compute::Peak::kInt8Dot);
    case Resource::kBf16:
      return peak_name("bf16 dots", compute::Peak::kBf16Dot);
    case Resource::kF32:
      return peak_name("f32", compute::Peak::kF32Fma);
    case Resource::kBarrier:
      return "barriers of the pool";
  }
  return {};
}

plan::Table machine_table(const MeasuredMachine& machine) {
  plan::Table table;
  table.title = "The machine";
  table.columns = {"", "threads", "best", "median", "nine in ten over", "unit"};
  for (const ResourceInfo& resource : kResources) {
    for (const MachineRoof& roof : machine.roofs) {
      if (roof.resource != resource.resource) continue;
      const auto number = [&](double rate) { return plan::ratio(rate / resource.scale); };
      table.rows.push_back({title_of(roof.resource, machine),
                            plan::ratio(static_cast<double>(roof.threads)), number(roof.rate.best),
                            number(roof.rate.median), number(roof.rate.p10),
                            std::string(resource.unit)});
    }
  }
  return table;
}

const MeasuredKernel* attention_of(const MeasuredModel& model, std::uint64_t sequences) {
  const auto found = std::ranges::find(model.attention, sequences, &MeasuredKernel::rows);
  return found == model.attention.end() ? nullptr : &*found;
}

double barrier_seconds(const MeasuredMachine& machine) {
  const double rate = machine.roof(Resource::kBarrier);
  return rate > 0 ? 1 / rate : 0;
}

/// Batches whose attention was measured too: a step is its products, its attention, its barriers.
plan::Table step_table(const MeasuredMachine& machine, const MeasuredModel& model) {
  plan::Table table;
  table.title =
      fmt::format("A step of {}, with {} positions cached a sequence", model.name, model.positions);
  table.columns = {"sequences", "weights",   "KV",       "operations", "least time",
                   "products",  "attention", "barriers", "together",   "tokens/s"};
  const auto roofs = machine.decode_roofs();
  for (const std::uint64_t batch : kBatches) {
    const MeasuredKernel* attention = attention_of(model, batch);
    const auto products = model.product_seconds(batch);
    if (attention == nullptr || !products) continue;
    const auto rows = static_cast<double>(batch);
    const measure::Work weights = measure::with_rows(model.row, rows);
    measure::Work kv = measure::with_rows(attention->work, attention->calls);
    kv.bytes *= attention->calls;
    const double least = measure::least_seconds(weights, roofs) + measure::least_seconds(kv, roofs);
    const double attending = kv.operations() / attention->typical();
    const double waiting = model.barriers(batch) * barrier_seconds(machine);
    const double all = *products + attending + waiting;
    table.rows.push_back(
        {plan::ratio(rows), plan::Amount(plan::bytes(weights.bytes)),
         plan::Amount(plan::bytes(kv.bytes)),
         plan::Amount(plan::ops(weights.operations() + kv.operations())),
         plan::Amount(plan::in_seconds(least)), plan::Amount(plan::in_seconds(*products)),
         plan::Amount(plan::in_seconds(attending)), plan::Amount(plan::in_seconds(waiting)),
         plan::Amount(plan::in_seconds(all)), plan::ratio(rows / all)});
  }
  return table;
}

void add_crossover(const MeasuredMachine& machine, const MeasuredModel& model,
                   plan::Answer& answer) {
  const auto roofs = machine.decode_roofs();
  const double weights = model.row.operations() / 2;
  const double bits = model.row.bytes * 8 / weights;
  const double peak = model.row.operations() / measure::compute_seconds(model.row, roofs);
  const Crossover crossover = crossover_of(machine, model);
  answer.step("weights", "a step reads, whatever its batch", "all products' weights as packed",
              plan::bytes(model.row.bytes), "the file's tensors");
  answer.step("operations", "a row computes", "a multiplication and an addition a weight",
              plan::ops(model.row.operations()), "");
  answer.step("bits", "bits a weight b", "8 x bytes / weights", plan::ratio(bits), "");
  answer.step("kv", "KV of a position", "all layers, K and V",
              plan::bytes(model.kv_bytes_per_position), "");
  answer.step("bandwidth", "bandwidth BW", "read of as many bytes, all threads",
              plan::Bandwidth{roofs.bandwidth}, "measured");
  answer.step("peak", "peak P", "the loops of what these weights multiply with", plan::OpRate{peak},
              "measured");
  answer.step("ridge", "ridge, operations a byte", "P / BW", plan::ratio(peak / roofs.bandwidth),
              kRoofline);
  answer.step("crossover", "decode turns compute-bound at a batch of", "(b / 16) x (P / BW)",
              plan::ratio(crossover.formula), kRoofline);
  answer.step("bandwidth_beside", "bandwidth beside the kernels", "median of those readings",
              plan::Bandwidth{model.roofs_beside().bandwidth}, "measured");
  answer.step("crossover_beside", "with the roofs there, at a batch of", "(b / 16) x (P / BW)",
              plan::ratio(crossover.beside), kRoofline);
  if (crossover.measured > 0) {
    const double many = std::ranges::max(kBatches);
    answer.step("products_1", "products of one row", "every kernel's typical time",
                plan::in_seconds(*model.product_seconds(1)), "measured");
    answer.step("products_128", fmt::format("of {} rows", many), "every kernel's typical time",
                plan::in_seconds(*model.product_seconds(std::ranges::max(kBatches))), "measured");
    answer.step("crossover_measured", "the kernels do at a batch of",
                fmt::format("T(1) / (T({0}) / {0})", many), plan::ratio(crossover.measured),
                "where both lines meet");
  }
}

/// Under a sloped roof up to its flat part.
plan::Series roof_series(const std::string& name, double bandwidth, double peak, double from,
                         double to) {
  plan::Series series;
  series.name = name;
  series.dashed = true;
  const double ridge = peak / bandwidth;
  if (from < ridge) series.points.emplace_back(from, bandwidth * from / 1e9);
  series.points.emplace_back(std::max(ridge, from), peak / 1e9);
  series.points.emplace_back(to, peak / 1e9);
  return series;
}

plan::Chart roofline_chart(const RooflineRun& run) {
  const MeasuredMachine& m = run.machine;
  plan::Chart chart;
  chart.title = fmt::format("Roofline of {}, {} thread{}{}", m.cpu, m.threads,
                            m.threads == 1 ? "" : "s", run.model ? ": " + run.model->name : "");
  chart.x = {.label = fmt::format("operations for each byte read from memory, at {:.3g} GB/s",
                                  m.roof(Resource::kWeights) / 1e9),
             .log = true};
  chart.y = {.label = "Gop/s", .log = true};
  double from = 0.5;
  double to = 256;
  std::vector<plan::Series> kernels;
  if (run.model) {
    std::vector<const MeasuredKernel*> all;
    for (const auto& kernel : run.model->products) all.push_back(&kernel);
    for (const auto& kernel : run.model->attention) all.push_back(&kernel);
    for (const MeasuredKernel* kernel : all) {
      const double x = kernel->work.intensity();
      from = std::min(from, x / 1.5);
      to = std::max(to, x * 1.5);
      const std::string name =
          kernel->outputs == 0 ? kernel->name : fmt::format("{} {}", kernel->name, kernel->type);
      if (kernels.empty() || kernels.back().name != name) {
        kernels.emplace_back();
        kernels.back().name = name;
        kernels.back().dots = true;
      }
      kernels.back().points.emplace_back(x, kernel->typical() / 1e9);
    }
  }
  const auto bandwidth = m.roof(Resource::kWeights);
  const auto add_roof = [&](const char* what, Resource peak, double rate) {
    if (m.roof(peak) <= 0 || rate <= 0) return;
    chart.series.push_back(roof_series(fmt::format("{} {:.0f}", what, m.roof(peak) / 1e9), rate,
                                       m.roof(peak), from, to));
  };
  add_roof("int8", Resource::kInt8, bandwidth);
  add_roof("bf16", Resource::kBf16, bandwidth);
  add_roof("f32", Resource::kF32, bandwidth);
  for (plan::Series& series : kernels) chart.series.push_back(std::move(series));
  if (run.model) {
    const double batch = crossover_of(m, *run.model).formula;
    chart.marks.push_back({fmt::format("batch {:.2g}", batch),
                           measure::with_rows(run.model->row, batch).intensity(), true});
  }
  return chart;
}

std::string headline_of(const RooflineRun& run) {
  const MeasuredMachine& m = run.machine;
  std::string text = fmt::format(
      "{} with {} thread{} reads {:.3g} GB/s from memory and computes {:.3g} Gop/s in int8", m.cpu,
      m.threads, m.threads == 1 ? "" : "s", m.roof(Resource::kMemory) / 1e9,
      m.roof(Resource::kInt8) / 1e9);
  if (m.roof(Resource::kBf16) > 0)
    text += fmt::format(", {:.3g} in bf16", m.roof(Resource::kBf16) / 1e9);
  text += fmt::format(", {:.3g} in f32.", m.roof(Resource::kF32) / 1e9);
  if (!run.model) return text;
  const Crossover crossover = crossover_of(m, *run.model);
  text += fmt::format(
      " Decode of {} becomes compute-bound here at a batch of {:.2g} by the roofs "
      "({:.2g} by what memory gave beside the kernels)",
      run.model->name, crossover.formula, crossover.beside);
  if (crossover.measured > 0)
    text += fmt::format(", and of {:.2g} by its kernels as measured", crossover.measured);
  return text + ".";
}

}  // namespace

Crossover crossover_of(const MeasuredMachine& machine, const MeasuredModel& model) {
  Crossover crossover;
  crossover.formula = measure::crossover_rows(model.row, machine.decode_roofs());
  crossover.beside = measure::crossover_rows(model.row, model.roofs_beside());
  constexpr std::uint32_t kMany = std::ranges::max(kBatches);
  const auto one = model.product_seconds(1);
  const auto many = model.product_seconds(kMany);
  if (one && many) crossover.measured = measure::measured_crossover(*one, *many, kMany);
  return crossover;
}

plan::Answer roofline_answer(const RooflineRun& run) {
  plan::Answer answer;
  answer.question = "roofline";
  answer.headline = headline_of(run);
  if (run.model) add_crossover(run.machine, *run.model, answer);
  answer.tables.push_back(machine_table(run.machine));
  if (run.model) {
    std::vector<MeasuredKernel> kernels = run.model->products;
    kernels.insert(kernels.end(), run.model->attention.begin(), run.model->attention.end());
    answer.tables.push_back(kernel_table(kernels));
    answer.tables.push_back(step_table(run.machine, *run.model));
    answer.note(
        "A kernel's share is its rate over what the roofs right beside it allow, the median "
        "of its samples. Weights stream from copies that no cache holds together; "
        "activations are quantised beforehand.");
    answer.note(clean_note());
    answer.note(
        "A step's times, the arithmetic and the picture take medians of clean samples, and the "
        "best sample of what has too few of them. Norms, RoPE, the gate and sampling are no "
        "part of a step here, so tokens/s is a ceiling of these kernels.");
  }
  answer.note(load_note(run.machine.load));
  answer.charts.push_back(roofline_chart(run));
  return answer;
}

json::object roofline_json(const RooflineRun& run) {
  const MeasuredMachine& m = run.machine;
  json::array roofs;
  for (const MachineRoof& roof : m.roofs) {
    const ResourceInfo& resource = info_of(roof.resource);
    json::object one = spread_json(roof.rate, resource.scale);
    one["resource"] = resource.name;
    one["threads"] = roof.threads;
    one["unit"] = resource.unit;
    one["clean"] = roof.clean;
    one["disturbed"] = roof.disturbed;
    roofs.push_back(std::move(one));
  }
  json::object object = {{"machine",
                          {{"cpu", m.cpu},
                           {"target", m.target},
                           {"threads", m.threads},
                           {"memory_bytes", m.memory_bytes},
                           {"l2_bytes", m.l2_bytes},
                           {"l3_bytes", m.l3_bytes},
                           {"buffer_bytes", m.buffer_bytes},
                           {"weight_set_bytes", m.weight_set},
                           {"roofs", std::move(roofs)}}},
                         {"load", load_json(m.load)},
                         {"model", nullptr}};
  if (!run.model) return object;
  const MeasuredModel& model = *run.model;
  json::array kernels;
  for (const auto* list : {&model.products, &model.attention}) {
    for (const MeasuredKernel& kernel : *list) kernels.push_back(kernel_json(kernel));
  }
  const Crossover crossover = crossover_of(m, model);
  object["model"] = {{"name", model.name},
                     {"weight_bytes_per_step", model.row.bytes},
                     {"operations_per_row", model.row.operations()},
                     {"kv_bytes_per_position", model.kv_bytes_per_position},
                     {"positions", model.positions},
                     {"barriers_of_one_row", model.barriers(1)},
                     {"barriers_of_32_rows", model.barriers(32)},
                     {"crossover_formula", crossover.formula},
                     {"crossover_beside", crossover.beside},
                     {"crossover_measured", crossover.measured},
                     {"kernels", std::move(kernels)}};
  return object;
}

std::string roofline_yaml(const MeasuredMachine& machine) {
  // YAML's double-quoted strings take JSON's escapes.
  const std::string title = json::serialize(
      json::string(fmt::format("this machine: {}, {} thread{}", machine.cpu.substr(0, 80),
                               machine.threads, machine.threads == 1 ? "" : "s")));
  const double sixteen = std::max(machine.roof(Resource::kBf16), machine.roof(Resource::kF32));
  return fmt::format(
      "# Written by `weir bench roofline`, read by `weir plan`: what was measured here.\n"
      "# fp16 is {}.\n"
      "cpus:\n"
      "  here: {{title: {}, memory: {:.4g} GB, bandwidth: {:.4g} GB/s, fp16: {:.4g} GFLOP/s, int8: "
      "{:.4g} Gop/s}}\n",
      machine.roof(Resource::kBf16) > 0 ? "the peak of bf16 dots"
                                        : "the peak of f32, since this CPU has no bf16 dots",
      title, static_cast<double>(machine.memory_bytes) / 1e9, machine.roof(Resource::kMemory) / 1e9,
      sixteen / 1e9, machine.roof(Resource::kInt8) / 1e9);
}

}  // namespace weir::cli
