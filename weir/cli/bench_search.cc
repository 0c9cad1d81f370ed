#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "weir/cli/bench_commands.h"
#include "weir/cli/bench_run.h"
#include "weir/cli/commands.h"
#include "weir/measure/capacity_search.h"
#include "weir/measure/html_report.h"

namespace weir::cli {
namespace {

struct SearchSettings {
  BenchSettings bench;
  std::vector<double> targets{90, 99};
  double first_rate = 1;
  double least_rate = 0.05;
  double most_rate = 1000;
  double precision = 1.1;
  std::uint32_t repeat = 1;
  std::uint32_t most_runs = 48;
};

class Search {
 public:
  Search(const SearchSettings& settings, BenchRunner runner)
      : settings_(settings), runner_(std::move(runner)) {}

  Status run() {
    for (const double target : settings_.targets) {
      const measure::CapacitySpec spec{.target = target / 100,
                                       .first_rate = settings_.first_rate,
                                       .least_rate = settings_.least_rate,
                                       .most_rate = settings_.most_rate,
                                       .precision = settings_.precision};
      while (const auto rate = measure::next_rate(tried_, spec)) {
        if (runner_.interrupted() || reports_.size() >= settings_.most_runs) return {};
        WEIR_TRY_STATUS(try_rate(*rate));
      }
    }
    finished_ = true;
    return {};
  }

  [[nodiscard]] std::string summary() const {
    std::string text = "\n";
    for (const double target : settings_.targets) {
      const double found = measure::capacity(tried_, target / 100);
      text +=
          fmt::format("  {:g} % meet {} up to {:.4g} requests/s{}\n", target, settings_.bench.slo,
                      found, found > 0 ? "" : ": not even at the lowest rate tried");
    }
    return text + (finished_ ? "" : "  ! the search was ended before it was done\n");
  }

  [[nodiscard]] const std::vector<measure::RunReport>& reports() const { return reports_; }
  [[nodiscard]] const std::string& json() const { return json_; }
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  /// The attainment of all runs at the rate together.
  Status try_rate(double rate) {
    std::uint64_t offered = 0;
    std::uint64_t good = 0;
    for (std::uint32_t i = 0; i < settings_.repeat; ++i) {
      WEIR_TRY(auto report, runner_.run({.rate = rate}));
      if (runner_.interrupted()) return {};
      offered += report.all.offered;
      good += report.all.good;
      tell(report);
      json_ += measure::json_report(report, !settings_.bench.no_requests);
      if (settings_.bench.html.empty()) report.records.clear();
      reports_.push_back(std::move(report));
    }
    tried_.push_back(
        {rate, offered > 0 ? static_cast<double>(good) / static_cast<double>(offered) : 0});
    return {};
  }

  void tell(const measure::RunReport& report) const {
    if (settings_.bench.quiet) return;
    fmt::print(
        stderr,
        "  {:>8.4g} requests/s: {:5.1f} % meet {}, TTFT p99 {:.0f} ms, TPOT p99 {:.1f} ms{}{}\n",
        report.facts.request_rate, 100 * report.all.attainment, settings_.bench.slo,
        report.all.ttft.p99, report.all.tpot.p99,
        report.facts.stopped.empty() ? "" : "; stopped: ", report.facts.stopped);
  }

  const SearchSettings& settings_;
  BenchRunner runner_;
  std::vector<measure::RatePoint> tried_;
  std::vector<measure::RunReport> reports_;
  std::string json_;
  bool finished_ = false;
};

Result<int> search(SearchSettings settings) {
  settings.bench.rates = {settings.first_rate};
  WEIR_TRY(auto runner, BenchRunner::prepare(settings.bench));
  Search search(settings, std::move(runner));
  WEIR_TRY_STATUS(search.run());
  auto reports = search.reports();
  std::ranges::sort(reports, {}, [](const auto& report) { return report.facts.request_rate; });
  if (!settings.bench.quiet && !reports.empty()) {
    WEIR_TRY_STATUS(write_text("-", measure::sweep_table(reports) + search.summary()));
  }
  if (!settings.bench.json.empty()) WEIR_TRY_STATUS(write_text(settings.bench.json, search.json()));
  if (!settings.bench.html.empty() && !reports.empty()) {
    WEIR_TRY_STATUS(write_text(settings.bench.html, measure::html_report(reports)));
  }
  return search.finished() ? 0 : 1;
}

}  // namespace

void add_bench_search(CLI::App& bench, int& exit_code) {
  auto settings = std::make_shared<SearchSettings>();
  settings->bench.seconds = 60;
  // What a drowned server has not answered by then has missed its objective anyhow.
  settings->bench.drain_s = 20;
  auto* command = bench.add_subcommand(
      "search", "Find the highest rate at which a server still meets an objective");
  add_target_options(*command, settings->bench);
  command->get_option("--slo")->required();
  const std::string group = "Search";
  command->add_option("--attain", settings->targets, "Percent of requests that must meet it")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1.0, 100.0))
      ->group(group);
  command->add_option("--from-rate", settings->first_rate, "Requests a second to try first")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1e5))
      ->group(group);
  command->add_option("--least-rate", settings->least_rate, "Give up below")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1e5))
      ->group(group);
  command->add_option("--most-rate", settings->most_rate, "Do not try above")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1e6))
      ->group(group);
  command->add_option("--precision", settings->precision, "Stop when rates differ by this factor")
      ->capture_default_str()
      ->check(CLI::Range(1.001, 2.0))
      ->group(group);
  command->add_option("--most-runs", settings->most_runs, "End after so many runs")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000))
      ->group(group);
  command->add_option("--burstiness", settings->bench.burstiness, "As of bench serve")
      ->capture_default_str()
      ->group(group);
  add_workload_options(*command, settings->bench);
  command->footer(
      "Example:\n"
      "  weir bench search http://127.0.0.1:8080 --slo ttft:1000,tpot:50 --seconds 120 \\\n"
      "      --input lognormal:600,0.9 --output 128 --html capacity.html\n"
      "\n"
      "The rate is doubled until the objective is missed, then halved in between. A request that\n"
      "fails misses it.");
  command->callback([settings, &exit_code] {
    const auto done = search(*settings);
    exit_code = done ? *done : report(done.error());
  });
}

}  // namespace weir::cli
