#include "weir/jinja/arguments.h"

#include <fmt/format.h>

namespace weir::jinja {

Result<std::int64_t> Bound::integer_or(std::size_t i, std::int64_t fallback) const {
  if (!has(i)) return fallback;
  if (const auto value = as_integer(*values_[i])) return *value;
  if (values_[i]->is(Kind::kUndefined)) return undefined_error(*values_[i]);
  return type_error(
      fmt::format("'{}' object cannot be interpreted as an integer", type_name(*values_[i])));
}

Result<Bound> bind(const Signature& s, const Arguments& arguments) {
  std::vector<const Value*> out(s.names.size(), nullptr);
  if (arguments.positional.size() > out.size()) {
    return type_error(fmt::format("{}() takes at most {} arguments ({} given)", s.function,
                                  out.size(), arguments.positional.size()));
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) out[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    std::size_t at = out.size();
    std::size_t i = 0;
    for (const std::string_view parameter : s.names) {
      if (parameter == name && i >= s.positional_only) at = i;
      ++i;
    }
    if (at == out.size()) {
      return type_error(
          fmt::format("{}() got an unexpected keyword argument '{}'", s.function, name));
    }
    if (out[at] != nullptr) {
      return type_error(
          fmt::format("{}() got multiple values for argument '{}'", s.function, name));
    }
    out[at] = &value;
  }
  for (std::size_t i = 0; i < s.required; ++i) {
    if (out[i] == nullptr) {
      return type_error(
          fmt::format("{}() is missing the argument '{}'", s.function, *(s.names.begin() + i)));
    }
  }
  return Bound(std::move(out));
}

}  // namespace weir::jinja
