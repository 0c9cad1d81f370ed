#pragma once

/// The sub-commands of `weir bench`, in the manner of commands.h. Thread safety: the main thread.

namespace CLI {
class App;
}

namespace weir::cli {

void add_bench_serve(CLI::App& bench, int& exit_code);
void add_bench_search(CLI::App& bench, int& exit_code);
void add_bench_compare(CLI::App& bench, int& exit_code);
void add_bench_echo(CLI::App& bench, int& exit_code);
void add_bench_ceiling(CLI::App& bench, int& exit_code);
void add_bench_roofline(CLI::App& bench, int& exit_code);
void add_bench_kernels(CLI::App& bench, int& exit_code);

}  // namespace weir::cli
