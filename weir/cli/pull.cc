#include <CLI/CLI.hpp>

#include "weir/cli/commands.h"

namespace weir::cli {

void add_pull(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("pull", "being built");
  command->callback(
      [&exit_code] { exit_code = report(Error{Code::kUnsupported, "pull is being built", {}}); });
}

}  // namespace weir::cli
