#pragma once

/// Byte counts as people read and write them. "MB" is 10^6 and "MiB" is 2^20, and neither is ever
/// taken for the other.
/// Thread safety: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// "96.4 MB": three significant digits, powers of ten.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

/// "2GiB", "512 MB", "1.5g" (a bare letter is binary, as in `docker -m`), "1000000".
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace weir
