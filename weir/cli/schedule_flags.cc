#include "weir/cli/schedule_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <numeric>

namespace weir::cli {
namespace {

constexpr std::uint32_t kMostReserved = 90;
constexpr auto kNoBound = std::numeric_limits<std::uint32_t>::max();

/// -1: not a whole number of 32 bits.
std::int64_t whole(std::string_view text) {
  std::uint32_t n = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
  return fault != std::errc() || end != text.data() + text.size() ? -1 : std::int64_t{n};
}

std::unexpected<Error> wrong(std::string_view flag, std::string_view got, std::string_view wanted) {
  return fail(Code::kInvalidArgument, fmt::format("{} '{}': {}", flag, got, wanted),
              std::string(flag.substr(2)));
}

}  // namespace

Result<policy::Reserve> parse_reserve(const std::vector<std::string>& texts) {
  policy::Reserve reserve;
  for (const std::string& text : texts) {
    const std::string_view all = text;
    const std::size_t equals = std::min(all.find('='), all.size());
    const std::string_view name = all.substr(0, equals);
    if (name == "background") {
      return wrong("--reserve", text, "whatever background work may use, everyone may use");
    }
    if ((name != "critical" && name != "standard") || !all.ends_with('%') || equals == all.size())
      return wrong("--reserve", text, "it must be critical=N% or standard=N%");
    const auto percent = whole(all.substr(equals + 1, all.size() - equals - 2));
    if (percent < 0 || percent > kMostReserved)
      return wrong("--reserve", text, fmt::format("the share must be 0% to {}%", kMostReserved));
    auto& share = reserve.percent[static_cast<std::size_t>(
        name == "critical" ? Priority::kCritical : Priority::kStandard)];
    if (share > 0) return wrong("--reserve", text, fmt::format("{} has a share already", name));
    share = static_cast<std::uint32_t>(percent);
  }
  if (std::accumulate(reserve.percent.begin(), reserve.percent.end(), 0U) > kMostReserved) {
    return wrong("--reserve", fmt::format("{}", fmt::join(texts, " ")),
                 fmt::format("the shares together must be {}% at most", kMostReserved));
  }
  return reserve;
}

Result<policy::LengthGroups> parse_length_caps(std::string_view text) {
  policy::LengthGroups groups;
  bool closed = false;
  for (std::string_view left = text; !left.empty();) {
    const std::size_t comma = std::min(left.find(','), left.size());
    const std::string_view part = left.substr(0, comma);
    left.remove_prefix(std::min(comma + 1, left.size()));
    const std::size_t equals = std::min(part.find('='), part.size());
    const bool rest = part.substr(0, equals) == "rest";
    const std::int64_t tokens = rest ? kNoBound : whole(part.substr(0, equals));
    const std::int64_t running = equals < part.size() ? whole(part.substr(equals + 1)) : -1;
    if (tokens < 1 || running < 1)
      return wrong("--length-caps", part, "it must be TOKENS=N or rest=N, both at least 1");
    if (closed || (!groups.empty() && tokens <= groups.back().most_tokens))
      return wrong("--length-caps", part, "lengths must ascend, and rest come last");
    closed = rest;
    groups.push_back({static_cast<std::uint32_t>(tokens), static_cast<std::uint32_t>(running)});
  }
  if (!groups.empty() && !closed) groups.push_back({kNoBound, kNoBound});
  if (groups.size() > policy::kMaxLengthGroups) {
    return wrong("--length-caps", text,
                 fmt::format("at most {} groups, rest included", policy::kMaxLengthGroups));
  }
  return groups;
}

}  // namespace weir::cli
