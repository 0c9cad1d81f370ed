#include <CLI/CLI.hpp>

#include "weir/base/version.h"
#include "weir/cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app{
      "Weir serves trained models: a conversation in the terminal, an OpenAI-compatible server, "
      "and the\n"
      "tools around them.\n\n"
      "  weir run smollm2                 talk to a small model (fetched on first use)\n"
      "  weir serve smollm2               serve it at http://127.0.0.1:8080/v1\n"
      "  weir COMMAND --help              what a command can do"};
  app.name("weir");
  app.set_version_flag("--version", std::string("weir ") + weir::kVersion);
  app.require_subcommand(1);
  int exit_code = 0;
  weir::cli::add_run(app, exit_code);
  weir::cli::add_serve(app, exit_code);
  weir::cli::add_pull(app, exit_code);
  weir::cli::add_inspect(app, exit_code);
  weir::cli::add_bench(app, exit_code);
  weir::cli::add_plan(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return exit_code;
}
