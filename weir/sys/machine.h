#pragma once

/// What this process may use of the machine: cores (affinity and cgroup quota) and memory (total
/// and cgroup limit), never what the host merely has. Thread safety: reads the system; from any
/// thread.

#include <cstdint>
#include <string>

namespace weir::sys {

[[nodiscard]] std::size_t usable_cores();  ///< >= 1.
[[nodiscard]] std::uint64_t
usable_memory_bytes();  ///< What may be in use in all: machine or cgroup limit.
[[nodiscard]] std::uint64_t
available_memory_bytes();                      ///< What is free to take now, within the limit.
[[nodiscard]] std::uint64_t resident_bytes();  ///< Of this process.
[[nodiscard]] double cpu_seconds();            ///< Spent by this process so far, all threads.
[[nodiscard]] std::string cpu_name();

}  // namespace weir::sys
