#include "weir/api/internal/fields.h"

#include <fmt/format.h>

#include <cmath>

#include "weir/api/internal/json_fault.h"
#include "weir/api/request.h"

namespace weir::api {

Result<json::object> parse_object(std::string_view body, json::storage_ptr storage) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::parser parser({}, options);
  parser.reset(std::move(storage));
  boost::system::error_code fault;
  std::size_t at = 0;
  try {
    at = parser.write_some(body.data(), body.size(), fault);
    const auto rest = body.find_first_not_of(" \t\r\n", at);
    if (!fault && rest != std::string_view::npos) {
      fault = json::error::extra_data;
      at = rest;
    }
  } catch (const std::exception& e) {  // length_error, bad_alloc: this request's fault only.
    return fail(Code::kTooLarge, fmt::format("the body cannot be read as JSON: {}", e.what()));
  }
  if (fault) {
    return fail(Code::kInvalidArgument,
                body.empty()
                    ? "the body is empty; a JSON object is needed"
                    : "the body is not valid JSON: " +
                          describe_json_fault(body, at, static_cast<json::error>(fault.value())));
  }
  json::value value = parser.release();
  if (!value.is_object()) {
    return fail(Code::kInvalidArgument,
                fmt::format("the body must be a JSON object, but it is {}", kind_name(value)));
  }
  return std::move(value.get_object());
}

std::string_view kind_name(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "an array";
    case json::kind::object:
      return "an object";
  }
  return "something else";
}

std::unexpected<Error> wrong_type(std::string name, std::string_view wanted,
                                  const json::value& got) {
  std::string message = fmt::format("{} must be {}, but it is {}", name, wanted, kind_name(got));
  return fail(Code::kInvalidArgument, std::move(message), std::move(name));
}

Result<std::int64_t> to_integer(const json::value& value, const std::string& name, std::int64_t low,
                                std::int64_t high) {
  std::int64_t number = 0;
  bool inside = true;
  if (const auto* i = value.if_int64()) {
    number = *i;
  } else if (value.if_uint64() != nullptr) {
    inside = false;  // The parser makes one only above 2^63 - 1.
  } else if (const auto* d = value.if_double()) {
    if (std::isfinite(*d) && *d != std::floor(*d)) return wrong_type(name, "an integer", value);
    inside = std::abs(*d) < 0x1p53;
    if (inside) number = static_cast<std::int64_t>(*d);
  } else {
    return wrong_type(name, "an integer", value);
  }
  if (inside && number >= low && number <= high) return number;
  return fail(Code::kInvalidArgument,
              fmt::format("{} must be from {} to {}, but it is {}", name, low, high,
                          json::serialize(value)),
              name);
}

Result<double> to_number(const json::value& value, const std::string& name, double low,
                         double high) {
  if (!value.is_number()) return wrong_type(name, "a number", value);
  const auto number = value.to_number<double>();
  if (number >= low && number <= high) return number;
  return fail(Code::kInvalidArgument,
              fmt::format("{} must be from {} to {}, but it is {}", name, low, high, number), name);
}

Result<std::string> to_string(const json::value& value, const std::string& name) {
  if (const auto* s = value.if_string()) return std::string(s->data(), s->size());
  return wrong_type(name, "a string", value);
}

const json::value* Fields::find(std::string_view key) const {
  const auto* value = object_.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string Fields::name(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

Result<std::optional<bool>> Fields::boolean(std::string_view key) const {
  const auto* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  if (!value->is_bool()) return wrong_type(name(key), "a boolean", *value);
  return std::optional<bool>(value->get_bool());
}

Result<std::optional<std::int64_t>> Fields::integer(std::string_view key, std::int64_t low,
                                                    std::int64_t high) const {
  const auto* value = find(key);
  if (value == nullptr) return std::optional<std::int64_t>();
  WEIR_TRY(const auto number, to_integer(*value, name(key), low, high));
  return std::optional<std::int64_t>(number);
}

Result<std::optional<double>> Fields::number(std::string_view key, double low, double high) const {
  const auto* value = find(key);
  if (value == nullptr) return std::optional<double>();
  WEIR_TRY(const auto number, to_number(*value, name(key), low, high));
  return std::optional<double>(number);
}

Result<std::optional<std::string>> Fields::string(std::string_view key) const {
  const auto* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  WEIR_TRY(auto text, to_string(*value, name(key)));
  return std::optional<std::string>(std::move(text));
}

Result<const json::array*> Fields::array(std::string_view key, std::size_t max_size) const {
  const auto* value = find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) return wrong_type(name(key), "an array", *value);
  const auto& array = value->get_array();
  if (array.size() > max_size) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} may have at most {} elements, but has {}", name(key), max_size,
                            array.size()),
                name(key));
  }
  return &array;
}

Result<const json::object*> Fields::object(std::string_view key) const {
  const auto* value = find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_object()) return wrong_type(name(key), "an object", *value);
  return &value->get_object();
}

}  // namespace weir::api
