#include "weir/cli/inspect_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <variant>

#include "weir/base/utf8.h"
#include "weir/format/printable.h"

namespace weir::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kFirst = 8;  // Elements of an array shown when it is shortened.

template <class T>
constexpr bool kIsArray = false;
template <class T>
constexpr bool kIsArray<std::vector<T>> = true;

std::string scalar(bool value) { return value ? "true" : "false"; }
std::string scalar(std::int64_t value) { return std::to_string(value); }
std::string scalar(std::uint64_t value) { return std::to_string(value); }
/// F32 values print as the shortest decimal that gives the same float: 1e-05,
/// not 9.999999747378752e-06.
std::string scalar(double value) {
  const auto single = static_cast<float>(value);
  return static_cast<double>(single) == value ? fmt::format("{}", single)
                                              : fmt::format("{}", value);
}
std::string scalar(const std::string& value) { return value; }

template <class T>
std::string counted(const std::vector<T>& values) {
  std::string_view noun = "number";
  if (std::is_same_v<T, bool>) noun = "boolean";
  if (std::is_same_v<T, std::string>) noun = "text";
  return fmt::format("{} {}{}", values.size(), noun, values.size() == 1 ? "" : "s");
}

template <class T>
std::string short_array(const std::vector<T>& values, std::size_t width) {
  std::string out = counted(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string one = scalar(values[i]);
    if constexpr (std::is_same_v<T, std::string>)
      one = format::in_quotes(std::string_view(one).substr(0, 80));
    if (i >= kFirst || out.size() + one.size() + 2 > width) return out + (i == 0 ? "" : ", ...");
    out += (i == 0 ? ": " : ", ") + one;
  }
  return out;
}

json::value json_scalar(bool value) { return value; }
json::value json_scalar(std::int64_t value) { return value; }
json::value json_scalar(std::uint64_t value) { return value; }
json::value json_scalar(double value) {
  if (!std::isfinite(value)) return nullptr;  // JSON has neither infinities nor NaN.
  return value;
}
json::value json_scalar(const std::string& value) { return json::string(utf8::sanitize(value)); }

template <class T>
json::value json_array(const std::vector<T>& values, bool whole) {
  json::array array;
  const std::size_t count = whole ? values.size() : std::min(values.size(), kFirst);
  for (std::size_t i = 0; i < count; ++i) array.push_back(json_scalar(values[i]));
  if (whole) return array;
  return json::object{{"count", values.size()}, {"first", std::move(array)}};
}

}  // namespace

std::string short_text(const format::MetaValue& value, std::size_t width) {
  return std::visit(
      [&](const auto& v) {
        if constexpr (kIsArray<std::decay_t<decltype(v)>>) {
          return short_array(v, width);
        } else {
          return format::printable(scalar(v), width);
        }
      },
      value);
}

std::string whole_text(const format::MetaValue& value) {
  return std::visit(
      [&](const auto& v) {
        if constexpr (kIsArray<std::decay_t<decltype(v)>>) {
          std::string out;
          for (std::size_t i = 0; i < v.size(); ++i) {
            out += format::printable(scalar(v[i]), std::string::npos);
            out += '\n';
          }
          return out;
        } else {
          return scalar(v) + "\n";
        }
      },
      value);
}

json::value to_json(const format::MetaValue& value, bool whole) {
  return std::visit(
      [&](const auto& v) -> json::value {
        if constexpr (kIsArray<std::decay_t<decltype(v)>>) {
          return json_array(v, whole);
        } else {
          return json_scalar(v);
        }
      },
      value);
}

}  // namespace weir::cli
