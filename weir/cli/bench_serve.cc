#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "weir/cli/bench_commands.h"
#include "weir/cli/bench_run.h"
#include "weir/cli/bench_settings.h"
#include "weir/cli/commands.h"
#include "weir/measure/html_report.h"

namespace weir::cli {
namespace {

Status check_load(const BenchSettings& settings) {
  if (!settings.rates.empty() && !settings.users.empty()) {
    return fail(Code::kInvalidArgument,
                "--rate is an open loop and --users a closed one: give one of them");
  }
  return {};
}

std::vector<Load> loads_of(const BenchSettings& settings) {
  std::vector<Load> loads;
  for (const double rate : settings.rates) loads.push_back({.rate = rate});
  for (const std::uint32_t users : settings.users) loads.push_back({.users = users});
  if (loads.empty()) loads.push_back({});
  return loads;
}

/// 0 when every run went to its end and had answers, 1 otherwise.
Result<int> serve(BenchSettings settings) {
  WEIR_TRY_STATUS(check_load(settings));
  if (settings.rates.empty() && settings.users.empty() && settings.trace.empty()) {
    settings.users = {1};
  }
  WEIR_TRY(auto runner, BenchRunner::prepare(settings));
  std::vector<measure::RunReport> reports;
  std::string json;
  for (const Load& load : loads_of(settings)) {
    if (runner.interrupted()) break;
    WEIR_TRY(auto report, runner.run(load));
    json += measure::json_report(report, !settings.no_requests);
    if (!settings.quiet) WEIR_TRY_STATUS(write_text("-", measure::table_report(report)));
    // What a sweep holds in memory is its figures, unless they are to be drawn.
    if (settings.html.empty()) report.records.clear();
    reports.push_back(std::move(report));
  }
  if (!settings.quiet && reports.size() > 1) {
    WEIR_TRY_STATUS(write_text("-", measure::sweep_table(reports)));
  }
  if (!settings.json.empty()) WEIR_TRY_STATUS(write_text(settings.json, json));
  if (!settings.html.empty()) {
    WEIR_TRY_STATUS(write_text(settings.html, measure::html_report(reports)));
  }
  for (const auto& report : reports) {
    if (!report.facts.stopped.empty() || report.all.completed == 0) return 1;
  }
  return 0;
}

}  // namespace

void add_bench_serve(CLI::App& bench, int& exit_code) {
  auto settings = std::make_shared<BenchSettings>();
  auto* command = bench.add_subcommand(
      "serve", "Send load to an OpenAI-compatible server and time its answers");
  add_target_options(*command, *settings);
  const std::string group = "Load";
  command
      ->add_option("--rate", settings->rates,
                   "Open loop: requests a second, whatever the server does; several make a sweep")
      ->delimiter(',')
      ->group(group);
  command->add_option("--end-rate", settings->end_rate, "Ramp from the rate to this one by the end")
      ->group(group);
  command
      ->add_option("--burstiness", settings->burstiness,
                   "Shape of the gaps: 1 Poisson, below 1 bursts, above more even, 0 constant")
      ->capture_default_str()
      ->group(group);
  command
      ->add_option("--users", settings->users,
                   "Closed loop: so many requests at once (default 1); several make a sweep")
      ->delimiter(',')
      ->check(CLI::Range(1, 10000))
      ->group(group);
  add_workload_options(*command, *settings);
  command->footer(
      "Examples:\n"
      "  weir bench serve http://127.0.0.1:8080 --users 1,2,4,8 --input 256 --output 64\n"
      "  weir bench serve :8080 --rate 2 --seconds 60 --slo ttft:1000,tpot:50 --json out.json\n"
      "  weir bench serve :8080 --rate 1 --input lognormal:600,0.9 --shared-prefix 512\n"
      "  weir bench serve :8080 --trace AzureLLMInferenceTrace_conv.csv --stretch 6 --max-tokens "
      "2048\n"
      "\n"
      "Latency counts from when the workload wanted a request sent. Exit codes: 1 stopped early "
      "or\n"
      "nothing was answered, 2 wrong arguments, 7 no server.");
  command->callback([settings, &exit_code] {
    const auto done = serve(*settings);
    exit_code = done ? *done : report(done.error());
  });
}

}  // namespace weir::cli
