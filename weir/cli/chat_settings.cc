#include "weir/cli/chat_settings.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "weir/hub/names.h"

namespace weir::cli {
namespace {

struct Setting {
  std::string_view name;
  float SamplingParams::* real = nullptr;  // For those that are a float of SamplingParams.
};

constexpr Setting kSettings[] = {
    {"temperature", &SamplingParams::temperature},
    {"top_k"},
    {"top_p", &SamplingParams::top_p},
    {"min_p", &SamplingParams::min_p},
    {"typical_p", &SamplingParams::typical_p},
    {"repetition_penalty", &SamplingParams::repetition_penalty},
    {"presence_penalty", &SamplingParams::presence_penalty},
    {"frequency_penalty", &SamplingParams::frequency_penalty},
    {"seed"},
    {"max_tokens"},
    {"verbose"},
};

const Setting* find(std::string_view name) {
  for (const Setting& s : kSettings) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

/// The whole of `text` as a T, or nothing.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status not_a_value(std::string_view name, std::string_view value, const char* expected) {
  return fail(Code::kInvalidArgument,
              fmt::format("{} must be {}, not \"{}\"", name, expected, value), std::string(name));
}

Status apply(ChatSettings& s, const Setting& setting, std::string_view value) {
  const std::string_view name = setting.name;
  if (setting.real != nullptr) {
    const auto v = number<float>(value);
    if (!v) return not_a_value(name, value, "a number");
    s.sampling.*setting.real = *v;
  } else if (name == "top_k") {
    const auto v = number<std::int32_t>(value == "off" ? "0" : value);
    if (!v) return not_a_value(name, value, "a whole number, 0 for off");
    s.sampling.top_k = *v;
  } else if (name == "seed") {
    if (value == "random" || value == "off") {
      s.sampling.seed.reset();
      return {};
    }
    const auto v = number<std::uint64_t>(value);
    if (!v) return not_a_value(name, value, "a whole number from 0 up, or \"random\"");
    s.sampling.seed = *v;
  } else if (name == "max_tokens") {
    const auto v = number<std::uint32_t>(value == "off" ? "0" : value);
    if (!v) return not_a_value(name, value, "a whole number, 0 for what the context leaves");
    s.max_tokens = *v;
  } else {
    if (value != "on" && value != "off") return not_a_value(name, value, "on or off");
    s.verbose = value == "on";
  }
  return {};
}

}  // namespace

const std::vector<std::string_view>& setting_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Setting& s : kSettings) all.push_back(s.name);
    return all;
  }();
  return names;
}

Status change_setting(ChatSettings& settings, std::string_view name, std::string_view value,
                      std::int32_t vocabulary) {
  const Setting* setting = find(name);
  if (setting == nullptr) {
    const std::string_view close = hub::nearest(name, setting_names());
    return fail(Code::kInvalidArgument,
                close.empty()
                    ? fmt::format("there is no setting \"{}\"; /set alone shows them all", name)
                    : fmt::format("there is no setting \"{}\"; did you mean {}?", name, close),
                std::string(name));
  }
  ChatSettings changed = settings;
  WEIR_TRY_STATUS(apply(changed, *setting, value));
  WEIR_TRY_STATUS(validate(changed.sampling, vocabulary));
  settings = std::move(changed);
  return {};
}

std::string show_setting(const ChatSettings& settings, std::string_view name) {
  const Setting* setting = find(name);
  if (setting->real != nullptr) return fmt::format("{}", settings.sampling.*setting->real);
  if (name == "top_k") {
    return settings.sampling.top_k > 0 ? fmt::format("{}", settings.sampling.top_k) : "off";
  }
  if (name == "seed") {
    return settings.sampling.seed ? fmt::format("{}", *settings.sampling.seed) : "random";
  }
  if (name == "max_tokens") {
    return settings.max_tokens > 0 ? fmt::format("{}", settings.max_tokens) : "off";
  }
  return settings.verbose ? "on" : "off";
}

}  // namespace weir::cli
