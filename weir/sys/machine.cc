#include "weir/sys/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace weir::sys {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::optional<std::string> first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

/// A number, or kNoLimit for "max" and for files that do not exist (cgroup v2, then v1).
std::uint64_t limit_of(const char* v2, const char* v1) {
  for (const char* path : {v2, v1}) {
    const auto line = first_line(path);
    if (!line) continue;
    try {
      return std::stoull(*line);
    } catch (const std::exception&) {
      return kNoLimit;
    }
  }
  return kNoLimit;
}

/// A field of /proc/meminfo in bytes.
std::uint64_t meminfo(const std::string& field) {
  std::ifstream in("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string rest;
  while (in >> key >> kib && std::getline(in, rest)) {
    if (key == field) return kib * 1024;
  }
  return 0;
}

/// Cores' worth of CPU time the cgroup grants, rounded up; kNoLimit when it does not say.
std::uint64_t quota_cores() {
  const auto line = first_line("/sys/fs/cgroup/cpu.max");
  if (!line) return kNoLimit;
  std::istringstream in(*line);
  std::uint64_t quota = 0;
  std::uint64_t period = 0;
  if (!(in >> quota >> period) || period == 0) return kNoLimit;
  return std::max<std::uint64_t>(1, (quota + period - 1) / period);
}

}  // namespace

std::size_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const std::uint64_t affine =
      ::sched_getaffinity(0, sizeof set, &set) == 0
          ? static_cast<std::uint64_t>(CPU_COUNT(&set))
          : static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return static_cast<std::size_t>(std::max<std::uint64_t>(1, std::min(affine, quota_cores())));
}

std::uint64_t usable_memory_bytes() {
  return std::min(meminfo("MemTotal:"), limit_of("/sys/fs/cgroup/memory.max",
                                                 "/sys/fs/cgroup/memory/memory.limit_in_bytes"));
}

std::uint64_t available_memory_bytes() {
  const std::uint64_t limit = usable_memory_bytes();
  const std::uint64_t used =
      limit_of("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes");
  const std::uint64_t within = used == kNoLimit || used > limit ? kNoLimit : limit - used;
  return std::min(meminfo("MemAvailable:"), within);
}

std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  in >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  timespec spent{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent) != 0) return 0;
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

std::uint64_t thread_preemptions() {
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::uint64_t cache_bytes(int level) {
  for (int index = 0; index < 16; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const auto found = first_line((folder + "level").c_str());
    if (!found) break;
    const auto type = first_line((folder + "type").c_str());
    const auto size = first_line((folder + "size").c_str());
    if (*found != std::to_string(level) || !type || *type == "Instruction" || !size) continue;
    std::istringstream in(*size);
    std::uint64_t bytes = 0;
    char unit = ' ';
    if (!(in >> bytes) || bytes > (std::uint64_t{1} << 40)) return 0;
    in >> unit;
    return unit == 'K' ? bytes << 10 : unit == 'M' ? bytes << 20 : bytes;
  }
  return 0;
}

}  // namespace weir::sys
