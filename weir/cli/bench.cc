#include <CLI/CLI.hpp>

#include "weir/cli/bench_commands.h"
#include "weir/cli/commands.h"

namespace weir::cli {

void add_bench(CLI::App& app, int& exit_code) {
  auto* bench = app.add_subcommand("bench", "Measure a server, ours or another, or this machine");
  bench->require_subcommand(1);
  add_bench_serve(*bench, exit_code);
  add_bench_search(*bench, exit_code);
  add_bench_compare(*bench, exit_code);
  add_bench_echo(*bench, exit_code);
  add_bench_ceiling(*bench, exit_code);
  add_bench_roofline(*bench, exit_code);
  add_bench_kernels(*bench, exit_code);
}

}  // namespace weir::cli
