#include "weir/plan/amount.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace weir::plan {
namespace {

struct Scale {
  double size;
  const char* name;
};

constexpr std::array<Scale, 7> kByteScales = {{{1e18, " EB"},
                                               {1e15, " PB"},
                                               {1e12, " TB"},
                                               {1e9, " GB"},
                                               {1e6, " MB"},
                                               {1e3, " kB"},
                                               {1, " B"}}};
constexpr std::array<Scale, 8> kTimeScales = {{{365 * 86400.0, " years"},
                                               {86400, " days"},
                                               {3600, " h"},
                                               {60, " min"},
                                               {1, " s"},
                                               {1e-3, " ms"},
                                               {1e-6, " us"},
                                               {1e-9, " ns"}}};
constexpr std::array<Scale, 5> kOpScales = {
    {{1e18, " E"}, {1e15, " P"}, {1e12, " T"}, {1e9, " G"}, {1e6, " M"}}};
constexpr std::array<Scale, 4> kMoneyScales = {{{1e9, "B"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};

/// Three significant digits, without an exponent where people would not write one, and without
/// zeros that say nothing.
std::string three(double value) {
  if (value == 0) return "0";
  const double magnitude = std::abs(value);
  if (magnitude >= 1e15 || magnitude < 1e-4) return fmt::format("{:.3g}", value);
  const int exponent = static_cast<int>(std::floor(std::log10(magnitude * (1 + 1e-12))));
  const int decimals = std::max(0, 2 - exponent);
  value *= 1 + 1e-12;  // 18.25 is shown as 18.3, as people round, not as 18.2.
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

/// "1,000,000": groups of three.
std::string grouped(double whole) {
  const std::string digits = fmt::format("{:.0f}", std::abs(whole));
  std::string out;
  if (whole < 0) out += '-';
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

/// The largest scale that leaves a number of at least `least`.
std::string scaled(double value, std::span<const Scale> scales, double least = 1) {
  const double magnitude = std::abs(value) * (1 + 1e-9);
  for (const Scale& scale : scales) {
    if (magnitude >= scale.size * least) return three(value / scale.size) + scale.name;
  }
  return value == 0 ? "0" + std::string(scales.back().name)
                    : three(value / scales.back().size) + scales.back().name;
}

std::string show_time(double seconds) {
  // Half a day reads better as hours, and 90 s as seconds: a scale holds from two of it.
  for (const Scale& scale : kTimeScales) {
    const double least = scale.size > 1 ? 2 : 1;
    if (std::abs(seconds) * (1 + 1e-9) >= scale.size * least)
      return three(seconds / scale.size) + scale.name;
  }
  return seconds == 0 ? "0 s" : three(seconds / 1e-9) + " ns";
}

std::string show_money(double amount) {
  const std::string sign = amount < 0 ? "-$" : "$";
  const double size = std::abs(amount);
  if (size >= 1e4) return sign + scaled(size, kMoneyScales);
  if (size >= 1000) return sign + grouped(std::round(size));
  if (size >= 1 && size != std::floor(size)) return fmt::format("{}{:.2f}", sign, size);
  return sign + three(size);
}

std::string show_count(double value) {
  const double size = std::abs(value);
  if (size >= 1e15) return fmt::format("{:.3g}", value);
  if (size >= 1e12) return three(value / 1e12) + "T";
  if (size >= 1e9) return three(value / 1e9) + "B";
  return value == std::round(value) || size >= 1000 ? grouped(std::round(value)) : three(value);
}

struct Word {
  const char* name;
  double size;
};

constexpr Word kByteWords[] = {{"B", 1},        {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},
                               {"GB", 1e9},     {"TB", 1e12},    {"PB", 1e15},    {"KiB", 0x1p10},
                               {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}};
constexpr Word kTimeWords[] = {{"ns", 1e-9},     {"us", 1e-6},       {"ms", 1e-3},
                               {"s", 1},         {"sec", 1},         {"min", 60},
                               {"h", 3600},      {"hour", 3600},     {"hours", 3600},
                               {"d", 86400},     {"day", 86400},     {"days", 86400},
                               {"week", 604800}, {"month", 2628000}, {"months", 2628000},
                               {"y", 31536000},  {"year", 31536000}, {"years", 31536000}};
constexpr Word kBandwidthWords[] = {{"B/s", 1},        {"kB/s", 1e3},      {"MB/s", 1e6},
                                    {"GB/s", 1e9},     {"TB/s", 1e12},     {"PB/s", 1e15},
                                    {"GiB/s", 0x1p30}, {"Mbit/s", 1.25e5}, {"Gbit/s", 1.25e8},
                                    {"Mbps", 1.25e5},  {"Gbps", 1.25e8}};
constexpr Word kOpRateWords[] = {{"G", 1e9},       {"T", 1e12},       {"P", 1e15},
                                 {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15},
                                 {"GFLOPS", 1e9},  {"TFLOPS", 1e12},  {"PFLOPS", 1e15},
                                 {"TOPS", 1e12},   {"Gop/s", 1e9},    {"Top/s", 1e12}};
constexpr Word kOpWords[] = {{"", 1},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},
                             {"P", 1e15}, {"MFLOP", 1e6}, {"GFLOP", 1e9}, {"TFLOP", 1e12}};
constexpr Word kRateWords[] = {{"", 1},
                               {"/s", 1},
                               {"rps", 1},
                               {"qps", 1},
                               {"QPS", 1},
                               {"RPS", 1},
                               {"/min", 1.0 / 60},
                               {"/h", 1.0 / 3600},
                               {"/day", 1.0 / 86400},
                               {"k/s", 1e3},
                               {"M/s", 1e6},
                               {"k", 1e3},
                               {"M", 1e6},
                               {"tok/s", 1},
                               {"tokens/s", 1}};
constexpr Word kCountWords[] = {{"", 1},    {"k", 1e3}, {"K", 1e3},
                                {"M", 1e6}, {"B", 1e9}, {"T", 1e12}};
constexpr Word kFractionWords[] = {{"", 1}, {"%", 0.01}};
constexpr Word kMoneyWords[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"B", 1e9}};
constexpr Word kPriceWords[] = {{"/h", 1.0 / 3600},
                                {"/hour", 1.0 / 3600},
                                {"/day", 1.0 / 86400},
                                {"/month", 1.0 / 2628000},
                                {"/y", 1.0 / 31536000}};

struct Grammar {
  std::span<const Word> words;
  const char* examples;
};

Grammar grammar_of(Unit unit) {
  switch (unit) {
    case Unit::kBytes:
      return {kByteWords, "80GB (10^9 bytes) or 80GiB (2^30)"};
    case Unit::kSeconds:
      return {kTimeWords, "20ms, 1.5s, 3h or 30days"};
    case Unit::kBandwidth:
      return {kBandwidthWords, "900GB/s or 100Gbit/s"};
    case Unit::kOpRate:
      return {kOpRateWords, "989TFLOP/s"};
    case Unit::kOps:
      return {kOpWords, "140GFLOP"};
    case Unit::kRate:
      return {kRateWords, "1000, 1000/s or 50/day"};
    case Unit::kFraction:
      return {kFractionWords, "0.9 or 90%"};
    case Unit::kDollars:
      return {kMoneyWords, "$2M or 2000000"};
    case Unit::kPrice:
      return {kPriceWords, "$2.5/h"};
    case Unit::kCount:
    case Unit::kNone:
    case Unit::kFactor:
      break;
  }
  return {kCountWords, "8, 70.6B or 10k"};
}

}  // namespace

std::string show_number(double value) {
  if (!std::isfinite(value)) return value > 0 ? "unbounded" : "none";
  return std::abs(value) >= 1000 && std::abs(value) < 1e10 ? grouped(std::round(value))
                                                           : three(value);
}

std::string show(const Amount& a) {
  if (std::isnan(a.value)) return "none";
  if (std::isinf(a.value)) return a.value > 0 ? "unbounded" : "none";
  const std::string of = a.of.empty() ? "" : " " + a.of;
  switch (a.unit) {
    case Unit::kNone:
      return show_number(a.value);
    case Unit::kCount:
      // One thing is named without its plural.
      return show_count(a.value) +
             (a.value == 1 && of.ends_with('s') ? of.substr(0, of.size() - 1) : of);
    case Unit::kFraction:
      return three(100 * a.value) + " %";
    case Unit::kFactor:
      return show_number(a.value) + "x";
    case Unit::kBytes:
      return scaled(a.value, kByteScales);
    case Unit::kSeconds:
      return show_time(a.value);
    case Unit::kRate:
      return show_number(a.value) + of + "/s";
    case Unit::kBandwidth:
      return scaled(a.value, kByteScales) + "/s";
    case Unit::kOps:
      return scaled(a.value, kOpScales) + "FLOP";
    case Unit::kOpRate:
      return scaled(a.value, kOpScales) + "FLOP/s";
    case Unit::kDollars:
      return show_money(a.value);
    case Unit::kPrice:
      return show_money(a.value * 3600) + "/h";
  }
  return {};
}

std::string base_unit(const Amount& a) {
  switch (a.unit) {
    case Unit::kNone:
    case Unit::kFraction:
    case Unit::kFactor:
      return "";
    case Unit::kCount:
      return a.of;
    case Unit::kBytes:
      return "B";
    case Unit::kSeconds:
      return "s";
    case Unit::kRate:
      return a.of + "/s";
    case Unit::kBandwidth:
      return "B/s";
    case Unit::kOps:
      return "FLOP";
    case Unit::kOpRate:
      return "FLOP/s";
    case Unit::kDollars:
      return "USD";
    case Unit::kPrice:
      return "USD/s";
  }
  return {};
}

Result<double> parse_amount(std::string_view text, Unit unit) {
  const Grammar grammar = grammar_of(unit);
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument, fmt::format("'{}' is not understood: write {}",
                                                    text.substr(0, 60), grammar.examples));
  };
  std::string plain;
  for (char c : text) {
    if (c != ' ' && c != '$' && c != '_') plain += c;
  }
  double number = 0;
  const char* const last = plain.data() + plain.size();
  const auto [end, error] = std::from_chars(plain.data(), last, number);
  if (error != std::errc{} || !std::isfinite(number)) return wrong();
  const std::string_view word(end, static_cast<std::size_t>(last - end));
  if (word.empty() && number == 0) return 0.0;
  for (const Word& w : grammar.words) {
    if (word != w.name) continue;
    const double value = number * w.size;
    return std::isfinite(value) ? Result<double>(value) : wrong();
  }
  return wrong();
}

}  // namespace weir::plan
