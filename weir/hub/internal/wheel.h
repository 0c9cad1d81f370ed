#pragma once

/// A member of a Python wheel (a zip), streamed. The name asked for and the bound come from us;
/// nothing in the archive decides where or how much is written. Private to hub/. Thread safety: any
/// thread.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::hub {

/// Feeds the member's bytes, at most `max_bytes`, to `sink`. kCorrupt when the archive is broken
/// (each member carries a CRC-32), encrypted or the member larger; kNotFound when it is not there.
[[nodiscard]] Status read_member(const std::string& wheel, const std::string& member,
                                 std::uint64_t max_bytes,
                                 const std::function<Status(std::string_view)>& sink);

}  // namespace weir::hub
