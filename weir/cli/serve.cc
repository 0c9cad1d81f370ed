#include <CLI/CLI.hpp>

#include "weir/cli/commands.h"

namespace weir::cli {

void add_serve(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("serve", "being built");
  command->callback(
      [&exit_code] { exit_code = report(Error{Code::kUnsupported, "serve is being built", {}}); });
}

}  // namespace weir::cli
