#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "weir/cli/bench_commands.h"
#include "weir/cli/bench_run.h"
#include "weir/cli/bench_settings.h"
#include "weir/cli/commands.h"
#include "weir/sys/files.h"

namespace weir::cli {
namespace {

Status write_text(const std::string& path, const std::string& text) {
  if (path != "-") return sys::write_file_durably(path, text);
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) return fail(Code::kIo, "the output could not be written");
  return {};
}

Status check_load(const BenchSettings& settings) {
  if (!settings.rates.empty() && !settings.users.empty()) {
    return fail(Code::kInvalidArgument,
                "--rate is an open loop and --users a closed one: give one of them");
  }
  return {};
}

/// 0 when every run went to its end and had answers, 1 otherwise.
Result<int> serve(BenchSettings settings) {
  WEIR_TRY_STATUS(check_load(settings));
  if (settings.rates.empty() && settings.users.empty()) settings.users = {1};
  WEIR_TRY(auto runner, BenchRunner::prepare(settings));
  std::vector<measure::RunReport> reports;
  std::string json;
  const auto measure_one = [&](double rate, std::uint32_t users) -> Status {
    WEIR_TRY(auto report, runner.run(rate, users));
    json += measure::json_report(report, !settings.no_requests);
    if (!settings.quiet) WEIR_TRY_STATUS(write_text("-", measure::table_report(report)));
    // What a sweep holds in memory is its figures.
    report.records.clear();
    reports.push_back(std::move(report));
    return {};
  };
  for (const double rate : settings.rates) {
    if (!runner.interrupted()) WEIR_TRY_STATUS(measure_one(rate, 0));
  }
  for (const std::uint32_t users : settings.users) {
    if (!runner.interrupted()) WEIR_TRY_STATUS(measure_one(0, users));
  }
  if (!settings.quiet && reports.size() > 1) {
    WEIR_TRY_STATUS(write_text("-", measure::sweep_table(reports)));
  }
  if (!settings.json.empty()) WEIR_TRY_STATUS(write_text(settings.json, json));
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
