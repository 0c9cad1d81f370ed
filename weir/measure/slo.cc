#include "weir/measure/slo.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weir::measure {
namespace {

struct Limit {
  std::string_view name;
  std::optional<double> Slo::* field;
};
constexpr Limit kLimits[] = {{"ttft", &Slo::ttft_ms},
                             {"tpot", &Slo::tpot_ms},
                             {"e2el", &Slo::e2el_ms},
                             {"stall", &Slo::stall_ms}};

}  // namespace

double ttft_ms(const RequestRecord& record) {
  return milliseconds(record.first_token - record.scheduled);
}

double e2el_ms(const RequestRecord& record) {
  return milliseconds(record.last_token - record.scheduled);
}

std::optional<double> tpot_ms(const RequestRecord& record) {
  if (record.completion_tokens < 2) return std::nullopt;
  return milliseconds(record.last_token - record.first_token) / (record.completion_tokens - 1);
}

double stall_ms(const RequestRecord& record) {
  const auto longest = std::ranges::max_element(record.gaps);
  return longest == record.gaps.end() ? 0 : milliseconds(*longest);
}

bool Slo::met(const RequestRecord& record) const {
  if (!record.completed()) return false;
  const auto within = [](std::optional<double> limit, std::optional<double> value) {
    return !limit || !value || *value <= *limit;
  };
  return within(ttft_ms, measure::ttft_ms(record)) && within(tpot_ms, measure::tpot_ms(record)) &&
         within(e2el_ms, measure::e2el_ms(record)) && within(stall_ms, measure::stall_ms(record));
}

std::string Slo::text() const {
  std::string out;
  for (const Limit& limit : kLimits) {
    if (!(this->*limit.field)) continue;
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", limit.name, *(this->*limit.field));
  }
  return out;
}

Result<Slo> parse_slo(std::string_view text) {
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                fmt::format("\"{}\" is no objective: write limits in milliseconds like "
                            "ttft:1000,tpot:50 (of ttft, tpot, e2el, stall)",
                            text.substr(0, 64)),
                "slo");
  };
  Slo slo;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t colon = item.find(':');
    if (colon == std::string_view::npos) return wrong();
    const auto* limit = std::ranges::find(kLimits, item.substr(0, colon), &Limit::name);
    if (limit == std::end(kLimits) || (slo.*limit->field).has_value()) return wrong();
    const std::string_view number = item.substr(colon + 1);
    double value = 0;
    const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (fault != std::errc() || end != number.data() + number.size() || !(value > 0) ||
        !std::isfinite(value)) {
      return wrong();
    }
    slo.*limit->field = value;
  }
  if (slo.empty()) return wrong();
  return slo;
}

}  // namespace weir::measure
