#pragma once

/// The questions of the planner. Each is its parameters and a function from checked arguments to an
/// Answer; the command line, the report and the tests find them here. A question fails only on
/// arguments that contradict each other or the registry (Code::kInvalidArgument, one line). Thread
/// safety: pure functions.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/plan/answer.h"
#include "weir/plan/parameters.h"

namespace weir::plan {

struct Question {
  std::string name;     ///< "fit"
  std::string summary;  ///< One line: what it answers.
  std::vector<Parameter> parameters;
  std::vector<std::string> examples;  ///< Without "weir plan".
  Result<Answer> (*ask)(const Arguments&) = nullptr;
};

[[nodiscard]] std::span<const Question> questions();
/// Nothing when there is no such question.
[[nodiscard]] const Question* question_named(std::string_view name);

/// Parses and asks. Errors name the parameter at fault, or the nearest question.
[[nodiscard]] Result<Answer> ask(std::string_view name,
                                 const std::map<std::string, std::string>& given,
                                 const Registry& registry);

/// A service described once in YAML, all its questions asked, as one page. `origin` names the text
/// in errors.
///   service: Support chat
///   about: one paragraph
///   common: {model: llama-3-70b, device: h100}     # for every question that has such a parameter
///   questions:
///     fit: {devices: 8}
///     cost: {}
struct Report {
  std::string title, about;
  std::vector<Answer> answers;
};
/// What its `model:` and `draft:` say, so that files can be read before it is asked.
[[nodiscard]] Result<std::vector<std::string>> models_named(std::string_view yaml,
                                                            const std::string& origin);
[[nodiscard]] Result<Report> report(std::string_view yaml, const std::string& origin,
                                    const Registry& registry);

// One maker in each ask_<name>.cc.
[[nodiscard]] Question fit_question();
[[nodiscard]] Question batch_question();
[[nodiscard]] Question fleet_question();
[[nodiscard]] Question latency_question();
[[nodiscard]] Question shard_question();
[[nodiscard]] Question disagg_question();
[[nodiscard]] Question speculate_question();
[[nodiscard]] Question quantize_question();
[[nodiscard]] Question cache_question();
[[nodiscard]] Question tenants_question();
[[nodiscard]] Question scale_question();
[[nodiscard]] Question regions_question();
[[nodiscard]] Question cost_question();
[[nodiscard]] Question cascade_question();
[[nodiscard]] Question strategy_question();

}  // namespace weir::plan
