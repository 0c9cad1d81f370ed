#pragma once

/// How urgent a request is, as its sender states it. Thread safety: a value.

#include <cstddef>
#include <cstdint>

namespace weir {

/// A higher class is served first and may send a lower one out of memory.
enum class Priority : std::uint8_t { kBackground, kStandard, kCritical };
inline constexpr std::size_t kPriorities = 3;

}  // namespace weir
