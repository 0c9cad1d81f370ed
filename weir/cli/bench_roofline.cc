#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "weir/cli/bench_commands.h"
#include "weir/cli/bench_run.h"
#include "weir/cli/commands.h"
#include "weir/cli/roofline_report.h"
#include "weir/cli/roofline_run.h"
#include "weir/cli/terminal.h"
#include "weir/sys/files.h"

namespace weir::cli {
namespace {

constexpr std::uint32_t kQuickSeconds = 4;

struct RooflineSettings {
  std::string model;
  std::size_t threads = 0;
  std::uint32_t seconds = 20;
  bool quick = false;
  bool quiet = false;
  bool no_save = false;
  std::string json, svg, html;
};

/// Where `weir plan` finds what this machine was measured to do.
Status save_for_planner(const MeasuredMachine& machine) {
  WEIR_TRY(const std::string folder, sys::data_directory());
  WEIR_TRY_STATUS(sys::make_directories(folder + "/weir"));
  const std::string path = folder + "/weir/roofline.yaml";
  WEIR_TRY_STATUS(sys::write_file_durably(path, roofline_yaml(machine)));
  fmt::print(stderr, "weir: wrote {}; `weir plan` knows this machine as here\n", path);
  return {};
}

Result<int> run(const RooflineSettings& settings) {
  const sys::SystemClock clock;
  const bool redraws = Terminal().edits() && !settings.quiet;
  RooflineOptions options;
  options.model = settings.model;
  options.threads = settings.threads;
  options.quick = settings.quick;
  options.time = std::chrono::seconds(settings.quick ? kQuickSeconds : settings.seconds);
  if (redraws) {
    options.progress = [](const std::string& what) {
      fmt::print(stderr, "\r\033[Kmeasuring {}", what);
      std::fflush(stderr);
    };
  }
  const auto measured = run_roofline(options, clock);
  if (redraws) fmt::print(stderr, "\r\033[K");
  if (!measured) return std::unexpected(measured.error());
  const plan::Answer answer = roofline_answer(*measured);
  if (!settings.quiet) WEIR_TRY_STATUS(write_text("-", plan::write_text(answer)));
  if (!settings.json.empty()) {
    WEIR_TRY_STATUS(
        write_text(settings.json, boost::json::serialize(roofline_json(*measured)) + "\n"));
  }
  if (!settings.svg.empty())
    WEIR_TRY_STATUS(write_text(settings.svg, plan::write_svg(answer.charts.front())));
  if (!settings.html.empty()) {
    WEIR_TRY_STATUS(
        write_text(settings.html, plan::write_html("Roofline", answer.headline, {answer})));
  }
  if (!settings.no_save) WEIR_TRY_STATUS(save_for_planner(measured->machine));
  return 0;
}

}  // namespace

void add_bench_roofline(CLI::App& bench, int& exit_code) {
  auto settings = std::make_shared<RooflineSettings>();
  auto* command = bench.add_subcommand(
      "roofline", "What this machine can do at most, and how near a model's kernels come");
  command->add_option("MODEL", settings->model,
                      "A model's name, or a .gguf or .safetensors file; none: the machine alone");
  command
      ->add_option("--threads,-t", settings->threads,
                   "Measure up to so many (default: the cores this process may use)")
      ->check(CLI::Range(1, 256));
  command
      ->add_option("--seconds", settings->seconds,
                   "Stop after about so long; more finds more quiet moments on a shared machine")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  command->add_flag("--quick", settings->quick, "A few seconds, and less to be relied on");
  const auto file = [&](const char* flag, std::string& to, const char* help) {
    command->add_option(flag, to, help)->type_name("FILE");
  };
  file("--json", settings->json, "Write the figures here; - for standard output");
  file("--svg", settings->svg, "Write the picture here");
  file("--html", settings->html, "Write a page with all of it here");
  command->add_flag("--no-save", settings->no_save,
                    "Leave $XDG_DATA_HOME/weir/roofline.yaml, which `weir plan` reads, as it is");
  command->add_flag("--quiet", settings->quiet, "No table");
  command->footer(
      "Every resource is sampled in turn: reading a buffer of eight times the last cache, as much\n"
      "as the model's weights, L3 and L2; triad; the peaks of int8, bf16 and f32; the barrier.\n"
      "Then each matrix of the model is multiplied with 1 to 128 rows, and attention runs over\n"
      "1 and 32 sequences, each between two samples of the roofs that bound it. A step reads its\n"
      "weights once whatever its batch: below the crossover more sequences cost nothing, above\n"
      "it only faster arithmetic helps.\n"
      "\n"
      "Examples:\n"
      "  weir bench roofline\n"
      "  weir bench roofline smollm2 --svg roofline.svg --json roofline.json\n"
      "  weir plan fit --model smollm2 --device here\n"
      "\n"
      "Exit codes: 2 wrong arguments, 3 the model is not there, 5 an unknown kind of model, 6 not "
      "enough\nmemory.");
  command->callback([settings, &exit_code] {
    const auto done = run(*settings);
    exit_code = done ? *done : report(done.error());
  });
}

}  // namespace weir::cli
