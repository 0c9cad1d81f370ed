#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "weir/plan/questions.h"

namespace weir::plan {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::size_t kMostQuestions = 100;

using Given = std::map<std::string, std::string>;

/// A value as the command line would have it: a scalar, a list as "a,b", a map as "a=1,b=2".
Result<std::string> argument_text(const YAML::Node& node, const std::string& place) {
  if (node.IsScalar()) return node.Scalar();
  std::string text;
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                place + " must be a value, a list of values or names with values");
  };
  if (!node.IsSequence() && !node.IsMap()) return wrong();
  for (const auto& item : node) {
    if (node.IsMap() ? !item.first.IsScalar() || !item.second.IsScalar() : !item.IsScalar())
      return wrong();
    text += (text.empty() ? "" : ",") +
            (node.IsMap() ? item.first.Scalar() + "=" + item.second.Scalar() : item.Scalar());
  }
  return text;
}

Result<Given> given_of(const YAML::Node& node, const std::string& place) {
  Given given;
  if (!node || node.IsNull()) return given;
  if (!node.IsMap())
    return fail(Code::kInvalidArgument, place + " must hold names with values, or {}");
  for (const auto& pair : node) {
    if (!pair.first.IsScalar())
      return fail(Code::kInvalidArgument, place + ": a name must be a word");
    WEIR_TRY(std::string text, argument_text(pair.second, place + "." + pair.first.Scalar()));
    given.insert_or_assign(pair.first.Scalar(), std::move(text));
  }
  return given;
}

Result<std::string> line_of(const YAML::Node& root, const char* name, const std::string& origin,
                            bool needed) {
  const YAML::Node node = root[name];
  if (!node && !needed) return std::string();
  if (!node || !node.IsScalar() || node.Scalar().size() > 4000)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: '{}:' must be a line of text", origin, name));
  return node.Scalar();
}

Result<Report> read_report(const YAML::Node& root, const std::string& origin,
                           const Registry& registry) {
  if (!root.IsMap())
    return fail(Code::kInvalidArgument,
                origin + ": a service description holds 'service:', 'common:' and 'questions:'");
  for (const auto& pair : root) {
    static constexpr std::string_view kKnown[] = {"service", "about", "common", "questions"};
    if (!pair.first.IsScalar() ||
        std::ranges::find(kKnown, pair.first.Scalar()) == std::end(kKnown))
      return fail(
          Code::kInvalidArgument,
          fmt::format("{}: '{}' is not known here; known are: service, about, common, questions",
                      origin, pair.first.IsScalar() ? pair.first.Scalar().substr(0, 60) : "?"));
  }
  Report report;
  WEIR_TRY(report.title, line_of(root, "service", origin, true));
  WEIR_TRY(report.about, line_of(root, "about", origin, false));
  WEIR_TRY(const Given common, given_of(root["common"], origin + ": common"));
  const YAML::Node asked = root["questions"];
  if (!asked || !asked.IsMap() || asked.size() == 0 || asked.size() > kMostQuestions)
    return fail(Code::kInvalidArgument,
                origin + ": 'questions:' must name 1 to 100 of them, as in 'fit: {devices: 8}'");
  for (const auto& pair : asked) {
    if (!pair.first.IsScalar())
      return fail(Code::kInvalidArgument, origin + ": a question's name must be a word");
    const std::string& name = pair.first.Scalar();
    WEIR_TRY(Given given,
             given_of(pair.second, fmt::format("{}: questions.{}", origin, name.substr(0, 60))));
    if (const Question* question = question_named(name)) {
      for (const auto& [key, text] : common) {
        if (std::ranges::find(question->parameters, key, &Parameter::name) !=
            question->parameters.end())
          given.try_emplace(key, text);
      }
    }
    auto answer = ask(name, given, registry);
    if (!answer)
      return fail(answer.error().code, fmt::format("{}: questions.{}: {}", origin,
                                                   name.substr(0, 60), answer.error().message));
    report.answers.push_back(*std::move(answer));
  }
  return report;
}

/// The document, or one line on why it is none.
Result<YAML::Node> load(std::string_view yaml, const std::string& origin) {
  if (yaml.size() > kMostBytes)
    return fail(Code::kInvalidArgument, origin + " is larger than 1 MiB");
  return YAML::Load(std::string(yaml));
}

/// Runs `read` where yaml-cpp may throw.
template <class T, class Read>
Result<T> guarded(const std::string& origin, Read read) {
  try {
    return read();
  } catch (const YAML::Exception& e) {
    return fail(Code::kInvalidArgument, fmt::format("{}: line {}: {}", origin,
                                                    e.mark.is_null() ? 0 : e.mark.line + 1, e.msg));
  }
}

void collect_models(const YAML::Node& fields, std::vector<std::string>& into) {
  if (!fields || !fields.IsMap()) return;
  for (const char* name : {"model", "draft"}) {
    if (fields[name] && fields[name].IsScalar()) into.push_back(fields[name].Scalar());
  }
}

}  // namespace

Result<std::vector<std::string>> models_named(std::string_view yaml, const std::string& origin) {
  using Names = std::vector<std::string>;
  return guarded<Names>(origin, [&]() -> Result<Names> {
    WEIR_TRY(const YAML::Node root, load(yaml, origin));
    Names names;
    if (!root.IsMap()) return names;  // report() says what is wrong.
    collect_models(root["common"], names);
    if (root["questions"] && root["questions"].IsMap()) {
      for (const auto& pair : root["questions"]) collect_models(pair.second, names);
    }
    return names;
  });
}

Result<Report> report(std::string_view yaml, const std::string& origin, const Registry& registry) {
  return guarded<Report>(origin, [&]() -> Result<Report> {
    WEIR_TRY(const YAML::Node root, load(yaml, origin));
    return read_report(root, origin, registry);
  });
}

}  // namespace weir::plan
