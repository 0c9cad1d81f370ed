#include "weir/measure/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>

namespace weir::measure {
namespace {

namespace json = boost::json;

constexpr std::uint32_t kMooncakeBlock = 512;
constexpr std::size_t kMaxBlocks = 1 << 16;
/// 30 years; what nanoseconds can count is ten times that.
constexpr double kMaxSeconds = 1e9;

/// Lines without their ends; the last may lack one.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  std::optional<std::string_view> next() {
    while (!rest_.empty()) {
      std::string_view line = rest_.substr(0, rest_.find('\n'));
      rest_.remove_prefix(std::min(rest_.size(), line.size() + 1));
      ++number_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty()) return line;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::unexpected<Error> wrong(std::string_view what) const {
    return fail(Code::kCorrupt, fmt::format("line {} of the trace: {}", number_, what));
  }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

/// Takes the text up to the next comma.
std::string_view take_field(std::string_view& line) {
  const std::string_view field = line.substr(0, line.find(','));
  line.remove_prefix(std::min(line.size(), field.size() + 1));
  return field;
}

template <class T>
bool read_number(std::string_view text, T& into) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), into);
  return fault == std::errc() && end == text.data() + text.size();
}

/// A recorded answer of no tokens is one of one: something was asked.
bool read_length(std::string_view text, std::uint32_t& into) {
  if (!read_number(text, into) || into > kMaxLength) return false;
  into = std::max(into, 1U);
  return true;
}

/// "2023-11-16 18:17:03.9799600", with any number of decimals.
std::optional<Duration> read_date(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  const bool shaped = text.size() >= 19 && text[4] == '-' && text[7] == '-' && text[10] == ' ' &&
                      text[13] == ':' && text[16] == ':';
  if (!shaped || !read_number(text.substr(0, 4), year) || !read_number(text.substr(5, 2), month) ||
      !read_number(text.substr(8, 2), day) || !read_number(text.substr(11, 2), hour) ||
      !read_number(text.substr(14, 2), minute) || !read_number(text.substr(17), second)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || year < 1970 || year > 2200 || !(second >= 0 && second < 61))
    return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
         std::chrono::minutes(minute) + from_seconds(second);
}

Result<Trace> parse_azure(Lines lines) {
  Trace trace{.format = "azure", .timed = true, .entries = {}};
  while (auto line = lines.next()) {
    const auto at = read_date(take_field(*line));
    Entry entry;
    if (!at || !read_length(take_field(*line), entry.input) || !read_length(*line, entry.output)) {
      return lines.wrong("not TIMESTAMP,ContextTokens,GeneratedTokens");
    }
    entry.at = *at;
    trace.entries.push_back(std::move(entry));
  }
  return trace;
}

Result<Trace> parse_lengths(Lines lines) {
  Trace trace{.format = "lengths", .timed = false, .entries = {}};
  while (auto line = lines.next()) {
    Entry entry;
    if (!read_length(take_field(*line), entry.input) ||
        !read_length(take_field(*line), entry.output)) {
      return lines.wrong("not num_prefill_tokens,num_decode_tokens");
    }
    trace.entries.push_back(std::move(entry));
  }
  return trace;
}

std::optional<std::uint32_t> length_in(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  const std::int64_t number = value->get_int64();
  if (number < 0 || number > kMaxLength) return std::nullopt;
  return static_cast<std::uint32_t>(std::max<std::int64_t>(number, 1));
}

Result<Trace> parse_mooncake(Lines lines) {
  Trace trace{.format = "mooncake", .timed = true, .entries = {}};
  while (const auto line = lines.next()) {
    boost::system::error_code error;
    const json::value value = json::parse(*line, error);
    const auto* object = error ? nullptr : value.if_object();
    if (object == nullptr) return lines.wrong("not a JSON object");
    const auto* at = object->if_contains("timestamp");
    const auto input = length_in(*object, "input_length");
    const auto output = length_in(*object, "output_length");
    const auto* blocks = object->if_contains("hash_ids");
    if (at == nullptr || !at->is_number() || !input || !output ||
        (blocks != nullptr && (!blocks->is_array() || blocks->get_array().size() > kMaxBlocks))) {
      return lines.wrong("not timestamp, input_length, output_length, hash_ids");
    }
    const double milliseconds = at->to_number<double>(error);
    if (error || !(milliseconds >= 0 && milliseconds < 1e12)) {
      return lines.wrong("the timestamp is out of range");
    }
    Entry entry{.at = from_seconds(milliseconds / 1e3),
                .input = *input,
                .output = *output,
                .blocks = {},
                .block_tokens = kMooncakeBlock};
    if (blocks != nullptr) {
      for (const auto& id : blocks->get_array()) {
        if (!id.is_int64() || id.get_int64() < 0) return lines.wrong("a hash id is no number");
        entry.blocks.push_back(static_cast<std::uint64_t>(id.get_int64()));
      }
    }
    trace.entries.push_back(std::move(entry));
  }
  return trace;
}

std::uint32_t scaled(std::uint32_t tokens, double scale) {
  return static_cast<std::uint32_t>(
      std::clamp(std::round(tokens * scale), 1.0, double{kMaxLength}));
}

}  // namespace

Result<Trace> parse_trace(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Lines lines(text);
  Lines after_head = lines;
  const auto head = after_head.next();
  Result<Trace> trace = fail(
      Code::kUnsupported,
      "the trace begins like none that is read: Azure's TIMESTAMP,ContextTokens,GeneratedTokens, "
      "Mooncake's JSON lines, or num_prefill_tokens,num_decode_tokens");
  if (head && head->starts_with('{')) {
    trace = parse_mooncake(lines);
  } else if (head && head->starts_with("TIMESTAMP,ContextTokens,GeneratedTokens")) {
    trace = parse_azure(after_head);
  } else if (head && head->starts_with("num_prefill_tokens,num_decode_tokens")) {
    trace = parse_lengths(after_head);
  }
  if (!trace) return trace;
  if (trace->entries.empty()) return fail(Code::kCorrupt, "the trace holds no request");
  std::ranges::stable_sort(trace->entries, {}, &Entry::at);
  const Duration first = trace->entries.front().at;
  if (seconds(trace->entries.back().at) - seconds(first) > kMaxSeconds)
    return fail(Code::kCorrupt, "the trace lasts over 30 years, which no traffic does");
  for (auto& entry : trace->entries) entry.at -= first;
  return trace;
}

Result<std::vector<Entry>> cut_trace(const Trace& trace, const TraceCut& cut) {
  const auto is_factor = [](double factor) { return factor >= 1e-6 && factor <= 1e6; };
  if (!is_factor(cut.stretch) || !is_factor(cut.length_scale) || cut.from < Duration(0)) {
    return fail(Code::kInvalidArgument,
                "a trace is stretched and scaled by factors between 0.000001 and 1000000, and cut "
                "from a time that is not negative",
                "trace");
  }
  std::vector<Entry> entries;
  for (const Entry& original : trace.entries) {
    if (original.at < cut.from) continue;
    if (original.at - cut.from >= cut.length) break;
    if (cut.most > 0 && entries.size() == cut.most) break;
    Entry entry = original;
    const double at = seconds(entry.at - cut.from) * cut.stretch;
    if (at > kMaxSeconds) {
      return fail(Code::kInvalidArgument, "the trace is stretched over 30 years", "trace");
    }
    entry.at = from_seconds(at);
    entry.input = scaled(entry.input, cut.length_scale);
    entry.output = scaled(entry.output, cut.length_scale);
    if (entry.block_tokens > 0) entry.block_tokens = scaled(entry.block_tokens, cut.length_scale);
    if (cut.max_tokens > 0 && entry.input + entry.output > cut.max_tokens) continue;
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) {
    return fail(Code::kInvalidArgument, "nothing of the trace is left: widen its window or bounds",
                "trace");
  }
  return entries;
}

}  // namespace weir::measure
