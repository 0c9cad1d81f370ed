#include "weir/plan/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weir/base/check.h"
#include "weir/plan/nearest.h"

namespace weir::plan {
namespace {

constexpr std::size_t kMostValues = 1000;  ///< Of a list.

/// What is sane for a unit: wide enough for every real fleet, narrow enough that a slip of the unit
/// is caught and no product overflows.
std::pair<double, double> usual_bounds(Unit unit) {
  switch (unit) {
    case Unit::kFraction:
      return {0, 1};
    case Unit::kBytes:
      return {0, 1e19};
    case Unit::kSeconds:
      return {1e-9, 1e11};
    case Unit::kRate:
      return {1e-9, 1e15};
    case Unit::kBandwidth:
      return {1, 1e18};
    case Unit::kOps:
      return {1, 1e24};
    case Unit::kOpRate:
      return {1e6, 1e24};
    case Unit::kDollars:
      return {0, 1e15};
    case Unit::kPrice:
      return {0, 1e6};
    case Unit::kNone:
    case Unit::kFactor:
      return {1e-9, 1e9};
    case Unit::kCount:
      break;
  }
  return {1e-9, 1e18};
}

Parameter make(std::string name, Kind kind, Unit unit, std::string otherwise, std::string help) {
  const auto [low, high] = usual_bounds(unit);
  Parameter p;
  p.name = std::move(name);
  p.help = std::move(help);
  p.kind = kind;
  p.unit = unit;
  p.otherwise = std::move(otherwise);
  p.low = low;
  p.high = high;
  return p;
}

std::unexpected<Error> wrong(const Parameter& p, const std::string& why) {
  return fail(Code::kInvalidArgument, fmt::format("--{} {}", p.name, why), p.name);
}

std::string range_text(const Parameter& p) {
  if (p.unit == Unit::kRate || p.unit == Unit::kCount)
    return fmt::format("from {:.10g} to {:.10g}", p.low, p.high);
  return fmt::format("from {} to {}", show({p.low, p.unit}), show({p.high, p.unit}));
}

Result<double> read_number(const Parameter& p, std::string_view text) {
  const auto value = parse_amount(text, p.unit);
  if (!value) return wrong(p, value.error().message);
  // Percentages and unit factors leave the last bit open.
  if (*value < p.low * (1 - 1e-12) || *value > p.high * (1 + 1e-12))
    return wrong(p, fmt::format("is {}, but must be {}", text, range_text(p)));
  if (p.whole && *value != std::floor(*value))
    return wrong(p, fmt::format("is {}, but must be a whole number", text));
  return *value;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.push_back(part);
    if (comma == text.size()) return parts;
    text.remove_prefix(comma + 1);
  }
}

template <class Map>
Status known(const Parameter& p, const Map& map, const std::string& name) {
  if (map.contains(name)) return {};
  return wrong(
      p, fmt::format("'{}' is not known; {}", name.substr(0, 60), suggestion(name, names_of(map))));
}

}  // namespace

Parameter amount(std::string name, Unit unit, std::string otherwise, std::string help) {
  return make(std::move(name), Kind::kAmount, unit, std::move(otherwise), std::move(help));
}
Parameter amounts(std::string name, Unit unit, std::string otherwise, std::string help) {
  return make(std::move(name), Kind::kAmounts, unit, std::move(otherwise), std::move(help));
}
Parameter pairs(std::string name, Unit unit, std::string otherwise, std::string help) {
  return make(std::move(name), Kind::kPairs, unit, std::move(otherwise), std::move(help));
}
Parameter whole(std::string name, std::string otherwise, double low, double high,
                std::string help) {
  Parameter p = bounded(
      amount(std::move(name), Unit::kCount, std::move(otherwise), std::move(help)), low, high);
  p.whole = true;
  return p;
}
Parameter choice(std::string name, std::vector<std::string> choices, std::string otherwise,
                 std::string help) {
  Parameter p =
      make(std::move(name), Kind::kChoice, Unit::kNone, std::move(otherwise), std::move(help));
  p.choices = std::move(choices);
  return p;
}
Parameter model(std::string name, std::string otherwise, std::string help) {
  return make(std::move(name), Kind::kModel, Unit::kNone, std::move(otherwise), std::move(help));
}
Parameter device(std::string name, std::string otherwise, std::string help) {
  return make(std::move(name), Kind::kDevice, Unit::kNone, std::move(otherwise), std::move(help));
}
Parameter link(std::string name, std::string otherwise, std::string help) {
  return make(std::move(name), Kind::kLink, Unit::kNone, std::move(otherwise), std::move(help));
}
Parameter bounded(Parameter p, double low, double high) {
  p.low = low;
  p.high = high;
  return p;
}
Parameter needed(Parameter p) {
  p.required = true;
  return p;
}

Result<Arguments::Value> Arguments::read(const Parameter& p, const std::string& text,
                                         const Registry& registry) {
  Value v;
  v.kind = p.kind;
  switch (p.kind) {
    case Kind::kAmount: {
      WEIR_TRY(v.number, read_number(p, text));
      break;
    }
    case Kind::kAmounts: {
      for (std::string_view part : split(text)) {
        WEIR_TRY(const double number, read_number(p, part));
        v.numbers.push_back(number);
      }
      if (v.numbers.size() > kMostValues) return wrong(p, "holds more than 1000 values");
      break;
    }
    case Kind::kPairs: {
      for (std::string_view part : split(text)) {
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos || equals == 0 || equals > 60)
          return wrong(p,
                       fmt::format("needs NAME=VALUE pairs, but holds '{}'", part.substr(0, 60)));
        WEIR_TRY(const double number, read_number(p, part.substr(equals + 1)));
        v.pairs.emplace_back(part.substr(0, equals), number);
      }
      if (v.pairs.size() > kMostValues) return wrong(p, "holds more than 1000 pairs");
      break;
    }
    case Kind::kChoice:
      if (std::ranges::find(p.choices, text) == p.choices.end())
        return wrong(p, fmt::format("'{}' is not known; {}", text.substr(0, 60),
                                    suggestion(text, p.choices)));
      v.word = text;
      break;
    case Kind::kModel:
      WEIR_TRY_STATUS(known(p, registry.models, text));
      v.word = text;
      break;
    case Kind::kDevice:
      WEIR_TRY_STATUS(known(p, registry.devices, text));
      v.word = text;
      break;
    case Kind::kLink:
      WEIR_TRY_STATUS(known(p, registry.links, text));
      v.word = text;
      break;
  }
  return v;
}

Result<Arguments> Arguments::parse(const std::vector<Parameter>& parameters,
                                   const std::map<std::string, std::string>& given,
                                   const Registry& registry) {
  for (const auto& [name, text] : given) {
    if (std::ranges::find(parameters, name, &Parameter::name) != parameters.end()) continue;
    std::vector<std::string> names;
    for (const Parameter& p : parameters) names.push_back(p.name);
    return fail(
        Code::kInvalidArgument,
        fmt::format("'{}' is not asked here; {}", name.substr(0, 60), suggestion(name, names)),
        name);
  }
  Arguments arguments;
  arguments.registry_ = &registry;
  for (const Parameter& p : parameters) {
    const auto found = given.find(p.name);
    const bool is_given = found != given.end();
    const std::string& text = is_given ? found->second : p.otherwise;
    if (text.empty()) {
      if (is_given) return wrong(p, "is empty");
      if (p.required)
        return fail(Code::kInvalidArgument, fmt::format("--{} is needed: {}", p.name, p.help),
                    p.name);
      continue;
    }
    WEIR_TRY(Value value, read(p, text, registry));
    value.given = is_given;
    arguments.values_.emplace(p.name, std::move(value));
  }
  return arguments;
}

bool Arguments::has(std::string_view name) const { return values_.contains(name); }

bool Arguments::given(std::string_view name) const {
  const auto found = values_.find(name);
  return found != values_.end() && found->second.given;
}

const Arguments::Value& Arguments::value(std::string_view name, Kind kind) const {
  const auto found = values_.find(name);
  WEIR_CHECK(found != values_.end() && found->second.kind == kind,
             "a question reads what it declared");
  return found->second;
}

double Arguments::number(std::string_view name) const { return value(name, Kind::kAmount).number; }
const std::vector<double>& Arguments::numbers(std::string_view name) const {
  return value(name, Kind::kAmounts).numbers;
}
const std::vector<std::pair<std::string, double>>& Arguments::pairs(std::string_view name) const {
  return value(name, Kind::kPairs).pairs;
}
const std::string& Arguments::word(std::string_view name) const {
  return value(name, Kind::kChoice).word;
}
const Model& Arguments::model(std::string_view name) const {
  return registry_->models.find(value(name, Kind::kModel).word)->second;
}
const Device& Arguments::device(std::string_view name) const {
  return registry_->devices.find(value(name, Kind::kDevice).word)->second;
}
const Link& Arguments::link(std::string_view name) const {
  return registry_->links.find(value(name, Kind::kLink).word)->second;
}

}  // namespace weir::plan
