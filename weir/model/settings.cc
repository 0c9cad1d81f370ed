#include "weir/model/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::model {

Settings::Settings(const format::ModelFile& file, bool gguf, std::string_view architecture,
                   std::string_view hf_prefix)
    : file_(file),
      gguf_(gguf),
      prefix_(gguf ? fmt::format("{}.", architecture) : std::string(hf_prefix)) {}

std::string Settings::spelled(Key key) const {
  const std::string_view name = gguf_ ? key.gguf : key.hf;
  return name.empty() ? std::string() : fmt::format("{}{}", prefix_, name);
}

bool Settings::has(Key key) const {
  const std::string name = spelled(key);
  return !name.empty() && file_.metadata().contains(name);
}

Result<std::optional<std::uint32_t>> Settings::count(Key key, std::uint32_t low,
                                                     std::uint32_t high) const {
  const std::string name = spelled(key);
  if (!has(key)) return std::nullopt;
  std::optional<std::uint64_t> value = file_.integer(name);
  const auto same = [&](const auto* values) {
    if (values == nullptr || values->empty() || values->front() < 0) return;
    const bool equal = std::ranges::all_of(*values, [&](auto v) { return v == values->front(); });
    if (equal) value = static_cast<std::uint64_t>(values->front());
  };
  if (!value) {
    same(file_.array<std::int64_t>(name));
    if (const auto* values = file_.array<std::uint64_t>(name);
        values != nullptr && !values->empty()) {
      if (std::ranges::all_of(*values, [&](auto v) { return v == values->front(); }))
        value = values->front();
    }
    if (!value && (file_.array<std::int64_t>(name) != nullptr ||
                   file_.array<std::uint64_t>(name) != nullptr)) {
      return unsupported(fmt::format("{} differs from layer to layer, which Weir cannot run", name),
                         name);
    }
  }
  if (!value) return corrupt(fmt::format("{} is not a whole number", name), name);
  if (*value < low || *value > high) {
    return corrupt(fmt::format("{} is {}, outside {} to {}", name, *value, low, high), name);
  }
  return static_cast<std::uint32_t>(*value);
}

Result<std::uint32_t> Settings::need_count(Key key, std::uint32_t low, std::uint32_t high) const {
  WEIR_TRY(const std::optional<std::uint32_t> value, count(key, low, high));
  if (!value) return corrupt(fmt::format("{} is missing", spelled(key)), spelled(key));
  return *value;
}

Result<std::optional<float>> Settings::number(Key key) const {
  if (!has(key)) return std::nullopt;
  const std::string name = spelled(key);
  const std::optional<double> value = file_.number(name);
  // Beyond float's range a finite double would become infinite.
  if (!value || !std::isfinite(static_cast<float>(*value))) {
    return corrupt(fmt::format("{} is not a finite number", name), name);
  }
  return static_cast<float>(*value);
}

Result<float> Settings::number_or(Key key, float otherwise) const {
  WEIR_TRY(const std::optional<float> value, number(key));
  return value.value_or(otherwise);
}

std::optional<std::string_view> Settings::text(Key key) const {
  return has(key) ? file_.text(spelled(key)) : std::nullopt;
}

std::optional<bool> Settings::boolean(Key key) const {
  return has(key) ? file_.boolean(spelled(key)) : std::nullopt;
}

const std::vector<std::string>* Settings::texts(Key key) const {
  return has(key) ? file_.array<std::string>(spelled(key)) : nullptr;
}

std::optional<std::vector<float>> Settings::numbers(Key key) const {
  if (!has(key)) return std::nullopt;
  const std::string name = spelled(key);
  std::vector<float> out;
  const auto take = [&](const auto* values) {
    if (values == nullptr) return;
    for (const auto value : *values) out.push_back(static_cast<float>(value));
  };
  take(file_.array<double>(name));
  take(file_.array<std::int64_t>(name));
  take(file_.array<std::uint64_t>(name));
  if (out.empty()) return std::nullopt;
  return out;
}

std::unexpected<Error> Settings::unsupported(std::string what, std::string subject) const {
  return fail(Code::kUnsupported, fmt::format("{}: {}", file_.path(), what), std::move(subject));
}

std::unexpected<Error> Settings::corrupt(std::string what, std::string subject) const {
  return fail(Code::kCorrupt, fmt::format("{}: {}", file_.path(), what), std::move(subject));
}

}  // namespace weir::model
