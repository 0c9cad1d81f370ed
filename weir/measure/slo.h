#pragma once

/// A service-level objective for one request: limits it must meet to be good. Goodput is the rate
/// of good requests (Zhong et al., "DistServe", OSDI 2024), attainment their share of all that were
/// offered: what fails or never comes misses its objective, so neither dropping late requests nor
/// holding them back makes the figure better. Thread safety: values.

#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/measure/record.h"

namespace weir::measure {

struct Slo {
  std::optional<double> ttft_ms;
  std::optional<double> tpot_ms;
  std::optional<double> e2el_ms;
  std::optional<double> stall_ms;  ///< The longest gap of an answer.

  [[nodiscard]] bool empty() const { return !ttft_ms && !tpot_ms && !e2el_ms && !stall_ms; }
  [[nodiscard]] bool met(const RequestRecord& record) const;
  [[nodiscard]] std::string text() const;  ///< As parse_slo() reads it.
};

/// "ttft:1000,tpot:50" in milliseconds, of ttft, tpot, e2el and stall; kInvalidArgument otherwise.
[[nodiscard]] Result<Slo> parse_slo(std::string_view text);

/// Milliseconds from when the request was wanted. REQUIRES: the record completed.
[[nodiscard]] double ttft_ms(const RequestRecord& record);
[[nodiscard]] double e2el_ms(const RequestRecord& record);
/// (E2E - TTFT) / (tokens - 1); nothing for an answer of one token.
[[nodiscard]] std::optional<double> tpot_ms(const RequestRecord& record);
[[nodiscard]] double stall_ms(const RequestRecord& record);

}  // namespace weir::measure
