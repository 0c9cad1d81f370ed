#pragma once

/// strftime of Python's datetime in the C locale, for a time that comes in as a parameter.
/// Thread safety: pure function.

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::jinja {

/// `unix_seconds` is read as UTC. Codes: a A w d b B m y Y H I p M S f z Z j U W c x X % G g u V e
/// D F T R r h n t s C k l P; an unknown code stays as it is written.
[[nodiscard]] std::string strftime_utc(std::int64_t unix_seconds, std::string_view format);

}  // namespace weir::jinja
