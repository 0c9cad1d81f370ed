#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <memory>

#include "weir/base/bytes.h"
#include "weir/cli/bench_commands.h"
#include "weir/cli/bench_run.h"
#include "weir/cli/commands.h"
#include "weir/cli/kernel_bench.h"
#include "weir/cli/kernel_report.h"
#include "weir/cli/loader.h"
#include "weir/compute/kernel_probes.h"
#include "weir/compute/kernel_target.h"
#include "weir/compute/roofline.h"
#include "weir/sys/machine.h"

namespace weir::cli {
namespace {

constexpr std::uint64_t kMostSide = 1U << 20;
constexpr std::uint32_t kMostRows = 4096;
constexpr std::uint64_t kLeastSet = 1U << 10;

struct KernelSettings {
  std::string type = "q4_1";
  std::vector<std::uint32_t> rows = {1};
  std::string shape;
  std::size_t threads = 0;
  std::string set = "96MB";
  std::uint32_t rounds = 15;
  std::string json;
  bool quick = false;
  bool quiet = false;
};

Result<DType> type_of(const std::string& written) {
  std::string name = written;
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const auto type = dtype_named(name);
  if (type && info(*type).weight) return *type;
  std::string known;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DTypeInfo& t = info(static_cast<DType>(i));
    if (t.weight) known += fmt::format("{}{}", known.empty() ? "" : ", ", t.name);
  }
  return fail(
      Code::kInvalidArgument,
      fmt::format("--type {}: no type of weights; there are {}", written.substr(0, 32), known),
      "type");
}

/// "960x576": outputs by columns.
Result<std::pair<std::uint64_t, std::uint64_t>> shape_of(const std::string& written) {
  const char* const begin = written.data();
  const char* const end = begin + written.size();
  std::uint64_t outputs = 0;
  std::uint64_t columns = 0;
  const auto [x, first] = std::from_chars(begin, end, outputs);
  if (first == std::errc() && x != end && (*x == 'x' || *x == 'X')) {
    const auto [rest, second] = std::from_chars(x + 1, end, columns);
    const auto fits = [](std::uint64_t n) { return n >= 1 && n <= kMostSide; };
    if (second == std::errc() && rest == end && fits(outputs) && fits(columns))
      return std::pair(outputs, columns);
  }
  return fail(Code::kInvalidArgument,
              fmt::format("--shape {}: write OUTPUTSxCOLUMNS as in 960x576, each 1 to {}",
                          written.substr(0, 40), kMostSide),
              "shape");
}

Status check_rows(const KernelSettings& settings) {
  for (const std::uint32_t rows : settings.rows) {
    if (rows < 1 || rows > kMostRows) {
      return fail(Code::kInvalidArgument,
                  fmt::format("--rows must be 1 to {}, but it is {}", kMostRows, rows), "rows");
    }
  }
  return {};
}

Result<std::uint64_t> set_of(const std::string& written) {
  WEIR_TRY(const std::uint64_t bytes, parse_bytes(written));
  if (bytes >= kLeastSet) return bytes;
  return fail(Code::kInvalidArgument,
              fmt::format("--set must be at least {}, but it is {}", format_bytes(kLeastSet),
                          format_bytes(bytes)),
              "set");
}

Result<int> run(const KernelSettings& settings) {
  WEIR_TRY(const DType type, type_of(settings.type));
  WEIR_TRY(const auto shape, shape_of(settings.shape));
  WEIR_TRY_STATUS(check_rows(settings));
  WEIR_TRY(const std::uint64_t set_bytes, set_of(settings.set));
  compute::MatrixView view{.type = type, .rows = shape.first, .columns = shape.second, .data = {}};
  const std::uint32_t most_rows = std::ranges::max(settings.rows);
  WEIR_TRY(const std::uint64_t planned,
           compute::ProductProbe::planned_bytes(std::span(&view, 1), most_rows, set_bytes));
  const auto row = row_bytes(type, view.columns);  // Whole blocks, or the plan had failed.
  const std::uint64_t file_bytes = *row * view.rows;
  const std::uint64_t read_bytes = std::max<std::uint64_t>(set_bytes, compute::kHugePage);
  const MemoryPart parts[] = {{"copies of the matrix, activations and outputs", planned},
                              {"the matrix as a file has it", file_bytes},
                              {"memory to read", read_bytes}};
  WEIR_TRY_STATUS(
      check_room(parts, sys::available_memory_bytes(), "lower --shape, --rows or --set"));

  const sys::SystemClock clock;
  compute::ThreadPool pool(settings.threads > 0 ? settings.threads : sys::usable_cores());
  const auto weights = harmless_weights(file_bytes);
  view.data = weights;
  WEIR_TRY(auto probe,
           compute::ProductProbe::make(pool, std::span(&view, 1), most_rows, set_bytes));
  const compute::AlignedBuffer<std::byte> memory(read_bytes);
  std::ranges::fill(memory.span(), std::byte{1});
  KernelBenchOptions options;
  options.rounds = settings.rounds;
  if (settings.quick) {
    options.rounds = std::min(options.rounds, 5U);
    options.sample = std::chrono::milliseconds(1);
  }
  const auto before = sys::read_cpu_times();
  const RoofsBeside beside(pool, clock, memory, set_bytes, options.sample);
  std::vector<MeasuredKernel> kernels;
  for (const std::uint32_t rows : settings.rows) {
    MeasuredKernel& kernel = kernels.emplace_back();
    kernel.name = "product";
    kernel.type = info(type).name;
    kernel.outputs = view.rows;
    kernel.columns = view.columns;
    kernel.rows = rows;
    kernel.work = measure::with_rows(
        product_work(std::span(&view, 1), static_cast<double>(probe.packed_bytes())), rows);
    measure_kernel(pool, clock, beside, probe.loop(pool, rows), options, kernel);
  }
  const auto after = sys::read_cpu_times();
  std::optional<sys::CpuLoad> load;
  if (before && after) load = sys::load_between(*before, *after);

  plan::Answer answer;
  answer.question = "kernels";
  const MeasuredKernel& last = kernels.back();
  answer.headline = fmt::format(
      "{} {} x {} with {} row{}: {:.3g} GB/s, {:.4g} Gop/s, {:.0f} % of what {} allows "
      "({} thread{}, {}).",
      last.type, last.outputs, last.columns, last.rows, last.rows == 1 ? "" : "s",
      last.bandwidth() / 1e9, last.rate.median / 1e9, 100 * last.share.median,
      last.bound == Bound::kMemory ? "memory" : "the peak", pool.workers(),
      pool.workers() == 1 ? "" : "s", compute::kernel_target());
  answer.tables.push_back(kernel_table(kernels));
  answer.note(fmt::format(
      "Weights stream from {} copies, {} in all; activations are quantised "
      "beforehand. Rates are medians of {} samples unless they say best. best of best: the "
      "best sample over the best roof of the same second.",
      probe.copies(), format_bytes(probe.copies() * probe.packed_bytes()), last.rate.samples));
  answer.note(load_note(load));
  if (!settings.quiet) WEIR_TRY_STATUS(write_text("-", plan::write_text(answer)));
  if (!settings.json.empty()) {
    boost::json::array list;
    for (const MeasuredKernel& kernel : kernels) list.push_back(kernel_json(kernel));
    const boost::json::object object = {
        {"cpu", sys::cpu_name()}, {"target", compute::kernel_target()}, {"threads", pool.workers()},
        {"set_bytes", set_bytes}, {"kernels", std::move(list)},         {"load", load_json(load)}};
    WEIR_TRY_STATUS(write_text(settings.json, boost::json::serialize(object) + "\n"));
  }
  return 0;
}

}  // namespace

void add_bench_kernels(CLI::App& bench, int& exit_code) {
  auto settings = std::make_shared<KernelSettings>();
  auto* command = bench.add_subcommand(
      "kernels", "One matrix product alone, beside the memory and the peak that bound it");
  command->add_option("--type", settings->type, "Of the weights: q4_1, q8_0, q6_k, bf16, f32 ...")
      ->capture_default_str();
  command->add_option("--shape", settings->shape, "The matrix: outputs by columns, as in 960x576")
      ->required()
      ->type_name("NxK");
  command
      ->add_option("--rows", settings->rows,
                   "Activation rows at once, one or several: 1,8,32 (1 to 4096)")
      ->capture_default_str()
      ->delimiter(',');
  command
      ->add_option("--threads,-t", settings->threads,
                   "Kernel threads (default: the cores this process may use)")
      ->check(CLI::Range(1, 256));
  command
      ->add_option("--set", settings->set,
                   "Cycle through so many bytes of copies: more than caches hold, or 256KiB to "
                   "see the kernel alone")
      ->capture_default_str()
      ->type_name("SIZE");
  command
      ->add_option("--rounds", settings->rounds,
                   "Samples of each, within 1.5 s, during which no thread loses its core")
      ->capture_default_str()
      ->check(CLI::Range(3, 1000));
  command->add_flag("--quick", settings->quick, "A tenth of the time, and less to be relied on");
  command->add_option("--json", settings->json, "Write the figures here; - for standard output")
      ->type_name("FILE");
  command->add_flag("--quiet", settings->quiet, "No table");
  command->footer(
      "Read, peak and kernel take turns, a few milliseconds each, so that the share of the roof "
      "holds\non a machine whose speed does not.\n"
      "\n"
      "Examples:\n"
      "  weir bench kernels --type q4_1 --shape 3072x576 --rows 1,4,8,16,32,128\n"
      "  weir bench kernels --type q8_0 --shape 49152x576 --rows 1 --threads 1\n"
      "  weir bench kernels --type q6_k --shape 2048x2048 --rows 32 --set 256KiB --json k.json\n"
      "\n"
      "Exit codes: 2 wrong arguments, 5 a type or size that cannot be multiplied, 6 not enough "
      "memory.");
  command->callback([settings, &exit_code] {
    const auto done = run(*settings);
    exit_code = done ? *done : report(done.error());
  });
}

}  // namespace weir::cli
