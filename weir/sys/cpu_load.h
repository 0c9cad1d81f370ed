#pragma once

/// What the cores were busy with between two moments: this process, others, or the hypervisor that
/// gave them to somebody else ("steal"). A measurement of speed shows it, since all three look
/// alike from inside. Thread safety: read_cpu_times() from any thread; the rest is pure.

#include <optional>
#include <string_view>

namespace weir::sys {

/// Seconds of all cores since boot.
struct CpuTimes {
  double busy = 0;  ///< Anything that ran, guests and interrupts included.
  double idle = 0;
  double steal = 0;
  double own = 0;  ///< Of busy, this process.
};

/// The first line of Linux's /proc/stat, in clock ticks; `own` is 0. Nothing when it is no such
/// line.
[[nodiscard]] std::optional<CpuTimes> parse_cpu_times(std::string_view text,
                                                      double ticks_per_second);

/// Nothing on systems without /proc/stat.
[[nodiscard]] std::optional<CpuTimes> read_cpu_times();

/// Fractions of the cores' time; all 0 when none has passed.
struct CpuLoad {
  double own = 0, others = 0, steal = 0, idle = 0;
};
[[nodiscard]] CpuLoad load_between(const CpuTimes& before, const CpuTimes& after);

}  // namespace weir::sys
