#pragma once

/// What a question may be told, as data: the command line, a service description in YAML and a test
/// all speak to a question through its list of parameters, and every range check stands here.
/// Errors: Code::kInvalidArgument, one line that names the parameter.
/// Thread safety: values; Arguments refers to a Registry that must outlive it.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/plan/amount.h"
#include "weir/plan/registry.h"

namespace weir::plan {

enum class Kind : unsigned char {
  kAmount,   ///< One number with a unit.
  kAmounts,  ///< Several, separated by commas.
  kPairs,    ///< "name=amount", separated by commas.
  kChoice,   ///< One of a few words.
  kModel,
  kDevice,
  kLink,
};

struct Parameter {
  std::string name;  ///< "pool-fraction"; --pool-fraction on the command line.
  std::string help;
  Kind kind = Kind::kAmount;
  Unit unit = Unit::kNone;
  std::string otherwise;  ///< The default as a person would write it; empty: not given.
  bool required = false;
  double low = 0, high = 0;          ///< Both allowed, in base units.
  bool whole = false;                ///< Only whole numbers.
  std::vector<std::string> choices;  ///< For kChoice.
};

// Makers, so that a question's list reads as a table. Bounds default to what is sane for the unit.
[[nodiscard]] Parameter amount(std::string name, Unit unit, std::string otherwise,
                               std::string help);
[[nodiscard]] Parameter amounts(std::string name, Unit unit, std::string otherwise,
                                std::string help);
[[nodiscard]] Parameter pairs(std::string name, Unit unit, std::string otherwise, std::string help);
/// A whole number from `low` to `high`.
[[nodiscard]] Parameter whole(std::string name, std::string otherwise, double low, double high,
                              std::string help);
[[nodiscard]] Parameter choice(std::string name, std::vector<std::string> choices,
                               std::string otherwise, std::string help);
[[nodiscard]] Parameter model(std::string name, std::string otherwise, std::string help);
[[nodiscard]] Parameter device(std::string name, std::string otherwise, std::string help);
[[nodiscard]] Parameter link(std::string name, std::string otherwise, std::string help);
[[nodiscard]] Parameter bounded(Parameter p, double low, double high);
[[nodiscard]] Parameter needed(Parameter p);

/// Checked values. The look-ups below abort on a name or kind the question did not declare: that is
/// a mistake of the question, not of its asker.
class Arguments {
 public:
  /// `given`: name to text. Unknown names, missing ones and wrong values are errors.
  [[nodiscard]] static Result<Arguments> parse(const std::vector<Parameter>& parameters,
                                               const std::map<std::string, std::string>& given,
                                               const Registry& registry);

  [[nodiscard]] const Registry& registry() const { return *registry_; }
  /// Whether there is a value, given or by default.
  [[nodiscard]] bool has(std::string_view name) const;
  /// Whether the asker gave it.
  [[nodiscard]] bool given(std::string_view name) const;

  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] Bytes bytes(std::string_view name) const { return {number(name)}; }
  [[nodiscard]] Seconds seconds(std::string_view name) const { return {number(name)}; }
  [[nodiscard]] Rate rate(std::string_view name) const { return {number(name)}; }
  [[nodiscard]] Bandwidth bandwidth(std::string_view name) const { return {number(name)}; }
  [[nodiscard]] Dollars dollars(std::string_view name) const { return {number(name)}; }
  [[nodiscard]] Price price(std::string_view name) const { return {number(name)}; }
  [[nodiscard]] const std::vector<double>& numbers(std::string_view name) const;
  [[nodiscard]] const std::vector<std::pair<std::string, double>>& pairs(
      std::string_view name) const;
  [[nodiscard]] const std::string& word(std::string_view name) const;
  [[nodiscard]] const Model& model(std::string_view name) const;
  [[nodiscard]] const Device& device(std::string_view name) const;
  [[nodiscard]] const Link& link(std::string_view name) const;

 private:
  struct Value {
    Kind kind{};
    bool given = false;
    double number = 0;
    std::vector<double> numbers;
    std::vector<std::pair<std::string, double>> pairs;
    std::string word;
  };
  [[nodiscard]] static Result<Value> read(const Parameter& parameter, const std::string& text,
                                          const Registry& registry);
  [[nodiscard]] const Value& value(std::string_view name, Kind kind) const;
  const Registry* registry_ = nullptr;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace weir::plan
