#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "weir/cli/commands.h"
#include "weir/cli/plan_model.h"
#include "weir/plan/questions.h"
#include "weir/sys/files.h"
#include "weir/sys/mapped_file.h"

namespace weir::cli {
namespace {

struct PlanOptions {
  std::map<std::string, std::string> given;  ///< Of the chosen question.
  std::string registry;                      ///< A user's file, laid over the built-in text.
  std::string service;                       ///< Of `plan report`.
  std::string output;                        ///< Of `plan report`; empty: standard output.
  bool json = false, csv = false, svg = false;
};

constexpr std::size_t kMostYaml = 1 << 20;

/// The built-in registry, then this machine as measured, then the user's own, then --registry.
Result<plan::Registry> registry_for(const PlanOptions& options) {
  WEIR_TRY(plan::Registry registry, plan::Registry::built_in());
  const std::string measured = sys::data_directory().value_or("") + "/weir/roofline.yaml";
  const std::string own = sys::config_directory().value_or("") + "/weir/registry.yaml";
  for (const std::string& path : {measured, own, options.registry}) {
    if (path.empty() || (path != options.registry && !sys::is_regular_file(path))) continue;
    WEIR_TRY(const std::string text, sys::read_file(path, kMostYaml));
    WEIR_TRY_STATUS(registry.overlay(text, path));
  }
  return registry;
}

/// Models that the arguments name by file join the registry under that name.
Status add_models(const std::map<std::string, std::string>& given, plan::Registry& registry) {
  for (const char* name : {"model", "draft"}) {
    const auto found = given.find(name);
    if (found == given.end() || registry.models.contains(found->second)) continue;
    WEIR_TRY(auto model, model_of_argument(found->second));
    if (!model) continue;
    model->name = found->second;
    registry.models.insert_or_assign(found->second, *std::move(model));
  }
  return {};
}

Result<std::string> answer_text(const std::string& question, const PlanOptions& options) {
  WEIR_TRY(plan::Registry registry, registry_for(options));
  WEIR_TRY_STATUS(add_models(options.given, registry));
  WEIR_TRY(const plan::Answer answer, plan::ask(question, options.given, registry));
  if (options.json) return plan::write_json(answer);
  if (options.csv) return plan::write_csv(answer);
  if (!options.svg) return plan::write_text(answer);
  if (answer.charts.empty())
    return fail(Code::kInvalidArgument,
                "plan " + question + " has no picture; take its text, --json or --csv");
  return plan::write_svg(answer.charts.back());
}

Result<std::string> report_text(const PlanOptions& options) {
  WEIR_TRY(plan::Registry registry, registry_for(options));
  WEIR_TRY(const std::string yaml, sys::read_file(options.service, kMostYaml));
  WEIR_TRY(const auto files, plan::models_named(yaml, options.service));
  for (const std::string& name : files) WEIR_TRY_STATUS(add_models({{"model", name}}, registry));
  WEIR_TRY(const plan::Report report, plan::report(yaml, options.service, registry));
  return plan::write_html(report.title, report.about, report.answers);
}

/// Prints, or writes to a file whole or not at all; the exit code.
int deliver(const Result<std::string>& text, const std::string& output) {
  if (!text) return report(text.error());
  if (!output.empty()) {
    const Status written = sys::write_file_durably(output, *text);
    if (!written) return report(written.error());
    fmt::print(stderr, "weir: wrote {}\n", output);
    return 0;
  }
  const bool printed = std::fwrite(text->data(), 1, text->size(), stdout) == text->size() &&
                       std::fflush(stdout) == 0;
  return printed ? 0 : report(Error{Code::kIo, "the output could not be written", {}});
}

std::string type_name(const plan::Parameter& p) {
  using plan::Kind;
  using plan::Unit;
  if (p.kind == Kind::kModel) return "MODEL";
  if (p.kind == Kind::kDevice) return "DEVICE";
  if (p.kind == Kind::kLink) return "LINK";
  if (p.kind == Kind::kChoice) return fmt::format("{}", fmt::join(p.choices, "|"));
  const char* unit = "N";
  if (p.unit == Unit::kBytes) unit = "SIZE";
  if (p.unit == Unit::kSeconds) unit = "TIME";
  if (p.unit == Unit::kRate) unit = "RATE";
  if (p.unit == Unit::kBandwidth) unit = "BANDWIDTH";
  if (p.unit == Unit::kDollars || p.unit == Unit::kPrice) unit = "MONEY";
  if (p.kind == Kind::kPairs) return fmt::format("NAME={},...", unit);
  if (p.kind == Kind::kAmounts) return fmt::format("{},...", unit);
  return unit;
}

void add_question(CLI::App& plan_command, const plan::Question& question,
                  const std::shared_ptr<PlanOptions>& options, int& exit_code) {
  auto* command = plan_command.add_subcommand(question.name, question.summary);
  for (const plan::Parameter& p : question.parameters) {
    std::string help = p.help;
    if (!p.otherwise.empty()) help += fmt::format(" [{}]", p.otherwise);
    command
        ->add_option_function<std::string>(
            "--" + p.name,
            [options, name = p.name](const std::string& text) { options->given[name] = text; },
            help)
        ->type_name(type_name(p));
  }
  auto* json =
      command->add_flag("--json", options->json,
                        "One JSON object for programs, in base units (bytes, seconds, dollars)");
  auto* csv = command->add_flag("--csv", options->csv, "The tables as CSV, in base units");
  auto* svg = command->add_flag("--svg", options->svg, "The picture");
  json->excludes(csv)->excludes(svg);
  csv->excludes(svg);
  command
      ->add_option("--registry", options->registry,
                   "A YAML file of devices, links, prices and models, laid over the built-in one")
      ->type_name("FILE");
  std::string footer = "Examples:\n";
  for (const std::string& example : question.examples) footer += "  weir plan " + example + "\n";
  command->footer(footer +
                  "\nUnits are always written: 80GB is 10^9 bytes, 80GiB is 2^30. Exit codes: 2 "
                  "wrong arguments, 3 a file is not there.");
  command->callback([options, name = question.name, &exit_code] {
    exit_code = deliver(answer_text(name, *options), "");
  });
}

void add_report(CLI::App& plan_command, const std::shared_ptr<PlanOptions>& options,
                int& exit_code) {
  auto* command = plan_command.add_subcommand(
      "report", "A service described in YAML: all its questions as one HTML page with pictures");
  command->add_option("SERVICE", options->service, "The description (see the example below)")
      ->required();
  command
      ->add_option("--output,-o", options->output, "The page to write (default: standard output)")
      ->type_name("FILE");
  command
      ->add_option("--registry", options->registry, "A YAML file laid over the built-in registry")
      ->type_name("FILE");
  command->footer(
      "A description:\n"
      "  service: Support chat\n"
      "  about: Answers customers, 50 requests a second at the peak.\n"
      "  common: {model: llama-3-70b, device: h100, devices: 8}   # for every question that asks "
      "it\n"
      "  questions:\n"
      "    fit: {context: 8192}\n"
      "    fleet: {rate: 50/s, service: 2s, slo: 5s, batch: 16}\n"
      "    cost: {devices: 8, tokens: 2300, hourly: $2.5/h}\n"
      "\n"
      "  weir plan report service.yaml -o report.html");
  command->callback(
      [options, &exit_code] { exit_code = deliver(report_text(*options), options->output); });
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PlanOptions>();
  auto* command = app.add_subcommand(
      "plan", "Capacity, cost and strategy: how many machines, of what kind, at what cost");
  command->require_subcommand(1);
  for (const plan::Question& question : plan::questions())
    add_question(*command, question, options, exit_code);
  add_report(*command, options, exit_code);
  command->footer(
      "Each question answers in a sentence, then shows the arithmetic line by line with the source "
      "of each formula.\n"
      "\n"
      "Examples:\n"
      "  weir plan fit --model llama-3-70b --device h100 --devices 8\n"
      "  weir plan fleet --rate 1000 --batch 8 --service 80ms --slo 100ms\n"
      "  weir plan cost --train '$2M' --users 1M --per-user 50/day --per-request '$0.001'\n"
      "  weir plan strategy --work text");
}

}  // namespace weir::cli
