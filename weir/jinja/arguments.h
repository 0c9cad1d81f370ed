#pragma once

/// Python's rules for handing arguments to parameters.
/// Thread safety: pure functions.

#include <initializer_list>
#include <string_view>
#include <vector>

#include "weir/jinja/value.h"

namespace weir::jinja {

/// A parameter list: the first `required` have no default; the first `positional_only` take no
/// name.
struct Signature {
  std::string_view function;
  std::initializer_list<std::string_view> names;
  std::size_t required = 0;
  std::size_t positional_only = 0;
};

/// One entry per parameter; nullptr where the caller left the default.
class Bound {
 public:
  explicit Bound(std::vector<const Value*> values) : values_(std::move(values)) {}
  [[nodiscard]] bool has(std::size_t i) const { return values_[i] != nullptr; }
  [[nodiscard]] const Value& operator[](std::size_t i) const { return *values_[i]; }
  [[nodiscard]] Value value_or(std::size_t i, Value fallback) const {
    return has(i) ? *values_[i] : fallback;
  }
  /// Absent or none.
  [[nodiscard]] bool is_none(std::size_t i) const { return !has(i) || values_[i]->is(Kind::kNone); }
  [[nodiscard]] bool is_true(std::size_t i) const { return has(i) && truthy(*values_[i]); }
  /// An integer (or the fallback when absent); anything else is Python's TypeError.
  [[nodiscard]] Result<std::int64_t> integer_or(std::size_t i, std::int64_t fallback) const;

 private:
  std::vector<const Value*> values_;
};

[[nodiscard]] Result<Bound> bind(const Signature& signature, const Arguments& arguments);

}  // namespace weir::jinja
