#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>

#include "weir/cli/bench_commands.h"
#include "weir/cli/bench_run.h"
#include "weir/cli/commands.h"
#include "weir/measure/comparison.h"
#include "weir/sys/mapped_file.h"

namespace weir::cli {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

struct CompareSettings {
  std::vector<std::string> files;
  bool markdown = false;
};

/// One object a line, as a sweep writes them, or one in the whole file.
Status read_runs(const std::string& path, std::vector<measure::ComparedRun>& runs) {
  WEIR_TRY(const auto file, sys::read_file(path, kMaxFileBytes));
  std::string_view rest = file;
  const bool by_line = rest.find("}\n{") != std::string_view::npos;
  while (!rest.empty()) {
    const std::string_view one = by_line ? rest.substr(0, rest.find('\n')) : rest;
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (one.find_first_not_of(" \r\n\t") == std::string_view::npos) continue;
    WEIR_TRY(runs.emplace_back(), measure::read_run(one, path));
  }
  return {};
}

Result<int> compare(const CompareSettings& settings) {
  std::vector<measure::ComparedRun> runs;
  for (const auto& path : settings.files) WEIR_TRY_STATUS(read_runs(path, runs));
  if (runs.empty()) return fail(Code::kInvalidArgument, "there is no run in these files");
  std::vector<std::string> loads;
  for (const auto& run : runs) {
    if (std::ranges::find(loads, run.load) == loads.end()) loads.push_back(run.load);
  }
  for (const auto& load : loads) {
    std::vector<measure::ComparedRun> of_load;
    std::ranges::copy_if(runs, std::back_inserter(of_load),
                         [&](const auto& run) { return run.load == load; });
    const auto comparison = measure::compare(of_load);
    std::string text = settings.markdown ? measure::comparison_markdown(comparison)
                                         : measure::comparison_table(comparison);
    if (loads.size() > 1) {
      text = fmt::format("{}{}\n{}", settings.markdown ? "\n#### " : "\n  ", load, text);
    }
    WEIR_TRY_STATUS(write_text("-", text));
  }
  return 0;
}

}  // namespace

void add_bench_compare(CLI::App& bench, int& exit_code) {
  auto settings = std::make_shared<CompareSettings>();
  auto* command = bench.add_subcommand(
      "compare", "Set runs side by side, with confidence intervals; the first label is the base");
  command->add_option("files", settings->files, "What --json wrote; runs of equal label repeat")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_flag("--markdown", settings->markdown, "A Markdown table");
  command->footer(
      "Example, interleaved so that a machine's moods meet both:\n"
      "  for i in 1 2 3 4 5; do\n"
      "    weir bench serve :8080 --label ours --users 8 --seed $i --json a$i.json\n"
      "    weir bench serve :8081 --label theirs --users 8 --seed $i --json b$i.json\n"
      "  done\n"
      "  weir bench compare b?.json a?.json");
  command->callback([settings, &exit_code] {
    const auto done = compare(*settings);
    exit_code = done ? *done : report(done.error());
  });
}

}  // namespace weir::cli
