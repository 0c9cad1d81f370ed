#pragma once

/// One measured run after another against one server: the model is found, the prompts' text is
/// fitted to its tokenizer, it is warmed up, and each run becomes a report. Thread safety: the main
/// thread; calls block.

#include <string>

#include "weir/base/result.h"
#include "weir/cli/bench_settings.h"
#include "weir/cli/signals.h"
#include "weir/load/target.h"
#include "weir/measure/run_report.h"

namespace weir::cli {

class BenchRunner {
 public:
  /// Finds the model and measures the text's scale.
  [[nodiscard]] static Result<BenchRunner> prepare(const BenchSettings& settings);

  /// Ctrl-C ends the run, not the program.
  [[nodiscard]] Result<measure::RunReport> run(const Load& load);

  [[nodiscard]] bool interrupted() const { return interrupted_; }

 private:
  BenchRunner(const BenchSettings& settings, load::Target target, measure::BodySpec bodies,
              measure::Slo slo)
      : settings_(settings), target_(std::move(target)), bodies_(std::move(bodies)), slo_(slo) {}

  BenchSettings settings_;
  load::Target target_;
  measure::BodySpec bodies_;
  measure::Slo slo_;
  std::uint32_t runs_ = 0;
  bool interrupted_ = false;
};

/// The settings of a run without what is sent: bounds and patience.
[[nodiscard]] load::LoadOptions load_options(const BenchSettings& settings);

/// To a file, whole or not at all, or to standard output for "-".
[[nodiscard]] Status write_text(const std::string& path, const std::string& text);

}  // namespace weir::cli
