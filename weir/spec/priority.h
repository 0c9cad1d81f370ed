#pragma once

/// How urgent a request is, as its sender states it. Thread safety: a value.

#include <cstdint>

namespace weir {

/// A higher class is served first and may send a lower one out of memory.
enum class Priority : std::uint8_t { kBackground, kStandard, kCritical };

}  // namespace weir
