#pragma once

/// Reading a JSON object field by field with faults that name the field, its range and what came.
/// Thread safety: pure; a Fields is a view, the document must outlive it.

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::api {

namespace json = boost::json;

/// The document in `body`, which must be one JSON object of at most kMaxDepth levels.
/// Faults carry the byte where reading stopped.
[[nodiscard]] Result<json::object> parse_object(std::string_view body, json::storage_ptr storage);

/// "a string", "an array" and so on.
[[nodiscard]] std::string_view kind_name(const json::value& value);

/// "NAME must be WANTED, but it is KIND".
[[nodiscard]] std::unexpected<Error> wrong_type(std::string name, std::string_view wanted,
                                                const json::value& got);

[[nodiscard]] Result<std::int64_t> to_integer(const json::value& value, const std::string& name,
                                              std::int64_t low, std::int64_t high);
[[nodiscard]] Result<double> to_number(const json::value& value, const std::string& name,
                                       double low, double high);
[[nodiscard]] Result<std::string> to_string(const json::value& value, const std::string& name);

class Fields {
 public:
  explicit Fields(const json::object& object, std::string path = {})
      : object_(object), path_(std::move(path)) {}

  /// Null when the field is absent or null.
  [[nodiscard]] const json::value* find(std::string_view key) const;
  [[nodiscard]] std::string name(std::string_view key) const;

  // Each: nothing when absent or null.
  [[nodiscard]] Result<std::optional<bool>> boolean(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::int64_t>> integer(std::string_view key, std::int64_t low,
                                                            std::int64_t high) const;
  [[nodiscard]] Result<std::optional<double>> number(std::string_view key, double low,
                                                     double high) const;
  [[nodiscard]] Result<std::optional<std::string>> string(std::string_view key) const;
  [[nodiscard]] Result<const json::array*> array(std::string_view key, std::size_t max_size) const;
  [[nodiscard]] Result<const json::object*> object(std::string_view key) const;

 private:
  const json::object& object_;
  std::string path_;
};

}  // namespace weir::api
