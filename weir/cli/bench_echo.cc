#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <thread>

#include "weir/cli/bench_commands.h"
#include "weir/cli/commands.h"
#include "weir/cli/signals.h"
#include "weir/load/echo_server.h"
#include "weir/load/run_load.h"
#include "weir/measure/figures.h"
#include "weir/measure/workload.h"
#include "weir/sys/files.h"

namespace weir::cli {
namespace {

struct EchoSettings {
  std::uint16_t port = 0;
  std::string port_file;
  std::string log;
  double first_ms = 0;
  double gap_ms = 0;
  double stall_at_s = -1;
  double stall_for_s = 0;
  std::uint32_t fail_every = 0;
};

/// One line a request: milliseconds from its receipt to the first and to the last piece.
std::string log_text(const std::vector<load::EchoRecord>& log) {
  std::string text = "first_ms,last_ms,pieces,hung_up\n";
  for (const auto& record : log) {
    text += fmt::format("{:.4f},{:.4f},{},{}\n", milliseconds(record.first - record.received),
                        milliseconds(record.last - record.received), record.pieces,
                        record.hung_up ? 1 : 0);
  }
  return text;
}

Result<int> echo(const EchoSettings& settings) {
  load::EchoOptions options;
  options.port = settings.port;
  options.first = from_seconds(settings.first_ms / 1e3);
  options.gap = from_seconds(settings.gap_ms / 1e3);
  if (settings.stall_at_s >= 0) options.stall_at = from_seconds(settings.stall_at_s);
  options.stall_for = from_seconds(settings.stall_for_s);
  options.fail_every = settings.fail_every;
  Signals signals;
  WEIR_TRY(const auto server, load::EchoServer::start(options));
  if (!settings.port_file.empty()) {
    WEIR_TRY_STATUS(
        sys::write_file_durably(settings.port_file, fmt::format("{}\n", server->port())));
  }
  fmt::print(stderr, "weir: echoing at http://127.0.0.1:{}   (Ctrl-C ends it)\n", server->port());
  while (!signals.interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  server->stop();
  if (!settings.log.empty()) {
    WEIR_TRY_STATUS(sys::write_file_durably(settings.log, log_text(server->log())));
  }
  return 0;
}

/// One round against a server that does nothing: what this client could at most take.
Result<int> ceiling(std::uint32_t users, std::uint32_t requests) {
  fmt::print("  {:>10}{:>12}{:>14}{:>16}{:>16}\n", "pieces", "requests/s", "pieces/s",
             "CPU us/request", "CPU us/piece");
  for (const std::uint32_t pieces : {1U, 16U, 256U}) {
    WEIR_TRY(const auto server, load::EchoServer::start({}));
    WEIR_TRY(const auto target, load::parse_target(fmt::format(":{}", server->port())));
    const auto entries =
        measure::synthetic_entries({.a = 128}, {.a = static_cast<double>(pieces)}, requests, 1);
    const auto plan = measure::make_plan(entries, {});
    load::LoadOptions options;
    options.concurrency = users;
    WEIR_TRY(const auto run,
             load::run_load(target, options, plan, measure::BodyWriter({.model = "echo"}), {}));
    const auto figures = measure::figures(run.records, {}, seconds(run.duration));
    const double each = run.client_cpu_s * 1e6 / requests;
    fmt::print("  {:>10}{:>12.0f}{:>14.0f}{:>16.1f}{:>16.2f}\n", pieces, figures.request_throughput,
               figures.output_throughput, each, each / pieces);
  }
  return 0;
}

}  // namespace

void add_bench_echo(CLI::App& bench, int& exit_code) {
  auto settings = std::make_shared<EchoSettings>();
  auto* command =
      bench.add_subcommand("echo", "A server with known delays, to check a client against");
  command->add_option("--port", settings->port, "0 takes any free one")->capture_default_str();
  command->add_option("--port-file", settings->port_file, "Write the port here");
  command->add_option("--log", settings->log,
                      "Write when what was answered here, as CSV, at the end");
  const auto delay = CLI::Range(0.0, 3.6e6);
  command->add_option("--first", settings->first_ms, "Milliseconds to the first piece")
      ->check(delay);
  command->add_option("--gap", settings->gap_ms, "Milliseconds between pieces; 0: all at once")
      ->check(delay);
  command->add_option("--stall-at", settings->stall_at_s, "Stand still from this second on,")
      ->check(delay);
  command->add_option("--stall-for", settings->stall_for_s, "for so many seconds")->check(delay);
  command->add_option("--fail-every", settings->fail_every, "Each so-manieth answer is a 500");
  command->callback([settings, &exit_code] {
    const auto done = echo(*settings);
    exit_code = done ? *done : report(done.error());
  });
}

void add_bench_ceiling(CLI::App& bench, int& exit_code) {
  struct Settings {
    std::uint32_t users = 16;
    std::uint32_t requests = 5000;
  };
  auto settings = std::make_shared<Settings>();
  auto* command = bench.add_subcommand(
      "ceiling", "What this client can at most measure here, against a server that does nothing");
  command->add_option("--users", settings->users, "Requests at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command->add_option("--requests", settings->requests, "How many of each kind")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command->callback([settings, &exit_code] {
    const auto done = ceiling(settings->users, settings->requests);
    exit_code = done ? *done : report(done.error());
  });
}

}  // namespace weir::cli
