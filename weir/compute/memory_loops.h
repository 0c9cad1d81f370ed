#pragma once

/// Loops that do nothing but move memory: what a kernel whose weights stream past it is compared
/// with. Thread safety: pure over the caller's memory.

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::compute {

/// Reads every byte once, in order; returns the exclusive or of its 64-bit words, so that no load
/// can be left out. REQUIRES: whole cache lines, aligned to one.
[[nodiscard]] std::uint64_t read_all(std::span<const std::byte> bytes);

/// a[i] = b[i] + 3 c[i] (McCalpin's STREAM triad), with stores that pass the caches by, so that
/// each element moves kTriadBytes and no line of `a` is read first.
/// REQUIRES: equal sizes, multiples of a cache line, aligned to one.
void triad(std::span<double> a, std::span<const double> b, std::span<const double> c);
inline constexpr double kTriadBytes = 24;

}  // namespace weir::compute
