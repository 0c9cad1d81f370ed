#include <CLI/CLI.hpp>

#include "weir/cli/commands.h"

namespace weir::cli {

void add_inspect(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("inspect", "being built");
  command->callback([&exit_code] {
    exit_code = report(Error{Code::kUnsupported, "inspect is being built", {}});
  });
}

}  // namespace weir::cli
