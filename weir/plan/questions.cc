#include "weir/plan/questions.h"

#include <algorithm>

#include "weir/plan/nearest.h"

namespace weir::plan {

std::span<const Question> questions() {
  static const std::vector<Question> all = {
      fit_question(),   batch_question(),   fleet_question(),     latency_question(),
      shard_question(), disagg_question(),  speculate_question(), quantize_question(),
      cache_question(), tenants_question(), scale_question(),     regions_question(),
      cost_question(),  cascade_question(), strategy_question()};
  return all;
}

const Question* question_named(std::string_view name) {
  const auto found = std::ranges::find(questions(), name, &Question::name);
  return found == questions().end() ? nullptr : &*found;
}

Result<Answer> ask(std::string_view name, const std::map<std::string, std::string>& given,
                   const Registry& registry) {
  const Question* question = question_named(name);
  if (question == nullptr) {
    std::vector<std::string> names;
    for (const Question& q : questions()) names.push_back(q.name);
    return fail(Code::kInvalidArgument, "'" + std::string(name.substr(0, 60)) +
                                            "' is no question; " + suggestion(name, names));
  }
  WEIR_TRY(const Arguments arguments, Arguments::parse(question->parameters, given, registry));
  return question->ask(arguments);
}

}  // namespace weir::plan
