#include "weir/base/bytes.h"

#include <array>
#include <charconv>
#include <cmath>

namespace weir {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr std::array<Unit, 17> kUnits = {{
    {"", 1},
    {"b", 1},
    {"kb", 1e3},
    {"mb", 1e6},
    {"gb", 1e9},
    {"tb", 1e12},
    {"pb", 1e15},
    {"kib", 0x1p10},
    {"mib", 0x1p20},
    {"gib", 0x1p30},
    {"tib", 0x1p40},
    {"pib", 0x1p50},
    {"k", 0x1p10},
    {"m", 0x1p20},
    {"g", 0x1p30},
    {"t", 0x1p40},
    {"p", 0x1p50},
}};

std::string lower_without_spaces(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

/// `value` with as many decimals as make three significant digits.
std::string three_digits(double value) {
  std::array<char, 32> text{};
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, decimals);
  return {text.data(), end.ptr};
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " B";
  constexpr std::array<std::string_view, 6> kNames = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1e3;
  std::size_t i = 0;
  while (value >= 999.5 && i + 1 < kNames.size()) {
    value /= 1e3;
    ++i;
  }
  return three_digits(value) + ' ' + std::string(kNames[i]);
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  const std::string plain = lower_without_spaces(text);
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                "'" + std::string(text) +
                    "' is no size: write a number and a unit, as in 2GiB, 512MB or 1000000");
  };
  double number = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return wrong();
  const std::string_view unit(end, static_cast<std::size_t>(plain.data() + plain.size() - end));
  for (const Unit& u : kUnits) {
    if (u.name != unit) continue;
    const double bytes = number * u.bytes;
    if (bytes >= 0x1p63) return wrong();
    return static_cast<std::uint64_t>(bytes);
  }
  return wrong();
}

}  // namespace weir
