#include "weir/cli/roofline_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "weir/cli/roofline_model.h"
#include "weir/compute/kernel_target.h"
#include "weir/model/model.h"
#include "weir/sys/machine.h"

namespace weir::cli {
namespace {

using compute::Resource;

/// A third of the time is the machine's, the rest the model's; without one all is.
std::chrono::nanoseconds machine_time(const RooflineOptions& options) {
  return options.model.empty() ? options.time : options.time / 3;
}

compute::RoofOptions roof_options(const RooflineOptions& options, std::uint64_t weight_set,
                                  std::size_t counts) {
  compute::RoofOptions roofs;
  roofs.weight_set = weight_set;
  roofs.budget = machine_time(options) / static_cast<std::int64_t>(counts);
  if (options.quick) {
    roofs.rounds = compute::kLeastRounds;
    roofs.sample = std::chrono::milliseconds(1);
    roofs.tries = 2;
  }
  return roofs;
}

void tell(const RooflineOptions& options, const std::string& what) {
  if (options.progress) options.progress(what);
}

void measure_machine(const RooflineOptions& options, const sys::Clock& clock,
                     const compute::RoofBuffer& buffer, MeasuredMachine& machine) {
  const auto counts = thread_counts(machine.threads);
  for (const std::size_t threads : counts) {
    tell(options, fmt::format("the machine with {} thread{}", threads, threads == 1 ? "" : "s"));
    compute::ThreadPool pool(threads);
    const auto roofs = compute::measure_roofs(
        pool, clock, buffer, roof_options(options, machine.weight_set, counts.size()));
    for (const compute::RoofSamples& roof : roofs) {
      machine.roofs.push_back(
          {roof.resource, threads, measure::spread_of(roof.rates), roof.clean, roof.disturbed});
    }
  }
}

}  // namespace

std::vector<std::size_t> thread_counts(std::size_t most) {
  std::vector<std::size_t> counts;
  for (std::size_t threads = 1; threads < most; threads *= 2) counts.push_back(threads);
  counts.push_back(most);
  return counts;
}

double MeasuredMachine::roof(Resource resource) const {
  for (const MachineRoof& one : roofs) {
    if (one.resource == resource && one.threads == threads) return one.rate.typical(one.clean);
  }
  return 0;
}

measure::Roofs MeasuredMachine::decode_roofs() const {
  return {.bandwidth = roof(Resource::kWeights),
          .int8 = roof(Resource::kInt8),
          .bf16 = roof(Resource::kBf16),
          .f32 = roof(Resource::kF32)};
}

Result<RooflineRun> run_roofline(const RooflineOptions& options, const sys::Clock& clock) {
  RooflineRun run;
  MeasuredMachine& machine = run.machine;
  machine.cpu = sys::cpu_name();
  machine.target = compute::kernel_target();
  machine.memory_bytes = sys::usable_memory_bytes();
  machine.l2_bytes = sys::cache_bytes(2);
  machine.l3_bytes = sys::cache_bytes(3);
  machine.threads = options.threads > 0 ? options.threads : sys::usable_cores();
  machine.buffer_bytes = compute::RoofBuffer::planned_bytes(machine.l3_bytes);
  machine.weight_set = std::min(compute::kWeightSet, machine.buffer_bytes);

  std::optional<ModelOfKernels> model;
  std::vector<MemoryPart> parts = {{"memory to read, 8 x the last cache", machine.buffer_bytes}};
  if (!options.model.empty()) {
    WEIR_TRY(model, ModelOfKernels::open(options.model));
    machine.weight_set = std::clamp<std::uint64_t>(model->streamed_bytes(), compute::kHugePage,
                                                   machine.buffer_bytes);
    WEIR_TRY(const std::uint64_t planned, model->planned_bytes(machine.weight_set));
    parts.push_back({"a kernel's weights, activations and KV", planned});
  }
  WEIR_TRY_STATUS(check_room(parts, sys::available_memory_bytes(),
                             model ? "free some, or take a smaller model" : "free some"));

  const auto before = sys::read_cpu_times();
  const compute::RoofBuffer buffer(machine.l2_bytes, machine.l3_bytes);
  machine.l2_bytes = buffer.l2_bytes;
  machine.l3_bytes = buffer.l3_bytes;
  measure_machine(options, clock, buffer, machine);
  if (model) {
    compute::ThreadPool pool(machine.threads);
    KernelBenchOptions kernels;
    kernels.budget =
        (options.time - machine_time(options)) / static_cast<std::int64_t>(model->kernels());
    if (options.quick) {
      kernels.rounds = 5;
      kernels.sample = std::chrono::milliseconds(1);
      kernels.tries = 2;
    }
    const RoofsBeside beside(pool, clock, buffer.bytes, machine.weight_set, kernels.sample);
    WEIR_TRY(run.model, model->measure(pool, clock, beside, machine.weight_set, kernels,
                                       [&](const std::string& what) { tell(options, what); }));
  }
  const auto after = sys::read_cpu_times();
  if (before && after) machine.load = sys::load_between(*before, *after);
  return run;
}

measure::Roofs MeasuredModel::roofs_beside() const {
  const auto median = [&](double measure::Roofs::* roof) {
    std::vector<double> rates;
    for (const MeasuredKernel& kernel : products) {
      if (kernel.roofs.*roof > 0) rates.push_back(kernel.roofs.*roof);
    }
    return measure::spread_of(std::move(rates)).median;
  };
  return {.bandwidth = median(&measure::Roofs::bandwidth),
          .int8 = median(&measure::Roofs::int8),
          .bf16 = median(&measure::Roofs::bf16),
          .f32 = median(&measure::Roofs::f32)};
}

double MeasuredModel::barriers(std::uint64_t rows) const {
  return model::barriers_of_step(layers, post_norms, static_cast<std::uint32_t>(rows));
}

std::optional<double> MeasuredModel::product_seconds(std::uint64_t rows) const {
  double seconds = 0;
  double operations = 0;
  for (const MeasuredKernel& kernel : products) {
    if (kernel.rows != rows) continue;
    seconds += kernel.calls * kernel.work.operations() / kernel.typical();
    operations += kernel.calls * kernel.work.operations();
  }
  const double wanted = row.operations() * static_cast<double>(rows);
  if (operations < wanted * 0.999) return std::nullopt;
  return seconds;
}

}  // namespace weir::cli
