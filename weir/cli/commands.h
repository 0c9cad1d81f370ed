#pragma once

/// The sub-commands of `weir`. Each add_ function declares its flags on the app and, when the
/// command is chosen and has run, leaves its exit code in `exit_code`. Thread safety: the main
/// thread.

#include <functional>
#include <string>

#include "weir/base/result.h"

namespace CLI {
class App;
}

namespace weir::cli {

void add_run(CLI::App& app, int& exit_code);
void add_serve(CLI::App& app, int& exit_code);
void add_pull(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);

/// The one table from error codes to exit codes: 2 wrong input, 3 not found, 4 corrupt, 5
/// unsupported, 6 out of memory or another resource, 7 the system or the network, 1 anything else.
[[nodiscard]] int exit_code_of(Code code);

/// Prints "weir: MESSAGE" on standard error and returns the exit code.
int report(const Error& error);

}  // namespace weir::cli
