#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "weir/base/math.h"
#include "weir/cli/commands.h"
#include "weir/cli/inspect_report.h"
#include "weir/cli/loader.h"
#include "weir/cli/terminal.h"
#include "weir/format/model_file.h"
#include "weir/hub/resolve.h"
#include "weir/model/architectures.h"
#include "weir/model/model.h"

namespace weir::cli {
namespace {

struct InspectOptions {
  std::string model;
  std::string metadata_key;
  bool json = false;
  bool tensors = false;
};

/// What `weir run` and `weir serve` would plan with their defaults, for one conversation as long as
/// the model allows.
MaybePlan plan_for(const format::ModelFile& file) {
  WEIR_TRY(const ModelShape shape, model::read_shape(file));
  model::ModelOptions options;
  const auto schedule = LoadOptions{}.engine.schedule;
  options.max_rows = schedule.max_rows;
  WEIR_TRY(const model::BytePlan plan, model::Model::plan(file, shape, options, 0));
  return MemoryPlan{.weights = plan.weights,
                    .activations = plan.activations + plan.sampling,
                    .tables = plan.tables,
                    .kv = plan.kv,
                    .kv_per_unit = plan.kv_per_unit,
                    .rows = options.max_rows,
                    .chunk = schedule.largest_chunk(),
                    .page_tokens = kPageTokens,
                    .context = shape.context};
}

Result<std::string> inspect(const InspectOptions& options) {
  const Terminal terminal;
  hub::ResolveOptions only_here;
  only_here.allow_pull = false;
  WEIR_TRY(const std::string path, hub::resolve(options.model, only_here));
  WEIR_TRY(const auto file, format::open_model_file(path));
  if (!options.metadata_key.empty()) {
    WEIR_TRY(std::string value, metadata_value(*file, options.metadata_key, options.json));
    return terminal.output() ? harmless(value) : value;
  }
  const MaybePlan plan = plan_for(*file);
  if (options.json) return json_report(*file, plan);
  return text_report(*file, plan, {.all_tensors = options.tensors, .bold = terminal.colours()});
}

int run(const InspectOptions& options) {
  const auto text = inspect(options);
  if (!text) return report(text.error());
  const bool written = std::fwrite(text->data(), 1, text->size(), stdout) == text->size() &&
                       std::fflush(stdout) == 0;
  return written ? 0 : report(Error{Code::kIo, "the output could not be written", {}});
}

}  // namespace

void add_inspect(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<InspectOptions>();
  auto* command = app.add_subcommand(
      "inspect", "Show what a model file holds: metadata, tensors, types, and the memory it needs");
  command
      ->add_option("MODEL", options->model,
                   "A .gguf or .safetensors file, or a Hugging Face directory (config.json beside "
                   "its weights)")
      ->required();
  command->add_flag("--tensors", options->tensors,
                    "List every tensor, not one line for each kind of layer tensor");
  command
      ->add_option("--metadata", options->metadata_key,
                   "Print one metadata value whole, and nothing else")
      ->type_name("KEY");
  command->add_flag("--json", options->json,
                    "One JSON object for programs; sizes in bytes, arrays as {\"count\", "
                    "\"first\"}. With --metadata: "
                    "that value whole");
  command->footer(
      "Examples:\n"
      "  weir inspect model.gguf\n"
      "  weir inspect model.gguf --metadata tokenizer.chat_template\n"
      "  weir inspect model.gguf --metadata tokenizer.ggml.tokens | head\n"
      "  weir inspect model.gguf --json | jq '.tensors[] | select(.type == \"F32\") | .name'\n"
      "\n"
      "Only headers are read, so this is quick whatever the size of the model. Exit codes: 2 "
      "wrong\n"
      "arguments or not a model, 3 not found, 4 corrupt or cut short, 5 a format or type that is "
      "not read.");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace weir::cli
