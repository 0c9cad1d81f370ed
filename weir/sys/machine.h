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
/// How often this thread lost its core to somebody else, or gave it away while it could have run:
/// nothing in between means that nothing came between.
[[nodiscard]] std::uint64_t thread_preemptions();
[[nodiscard]] std::string cpu_name();
/// Of the first core's data or unified cache of `level` (1 to 4), as Linux describes it; 0 when it
/// does not. A cache that cores share is counted whole, and in a virtual machine it may be shared
/// with strangers.
[[nodiscard]] std::uint64_t cache_bytes(int level);

}  // namespace weir::sys
