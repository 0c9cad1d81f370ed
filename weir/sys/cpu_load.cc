#include "weir/sys/cpu_load.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string>

#include "weir/sys/machine.h"

namespace weir::sys {

std::optional<CpuTimes> parse_cpu_times(std::string_view text, double ticks_per_second) {
  if (!text.starts_with("cpu ")) return std::nullopt;
  text = text.substr(4, text.find('\n') == text.npos ? text.npos : text.find('\n') - 4);
  // user nice system idle iowait irq softirq steal guest guest_nice (proc(5)); older kernels end
  // sooner. Guests are counted within user and nice.
  std::array<double, 8> ticks{};
  std::size_t count = 0;
  while (count < ticks.size()) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) break;
    unsigned long long value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    ticks[count++] = static_cast<double>(value) / ticks_per_second;
  }
  if (count < 4) return std::nullopt;
  return CpuTimes{.busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6],
                  .idle = ticks[3] + ticks[4],
                  .steal = ticks[7]};
}

std::optional<CpuTimes> read_cpu_times() {
  std::ifstream in("/proc/stat");
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  auto times = parse_cpu_times(line, static_cast<double>(::sysconf(_SC_CLK_TCK)));
  if (times) times->own = cpu_seconds();
  return times;
}

CpuLoad load_between(const CpuTimes& before, const CpuTimes& after) {
  // Ticks are coarse and clocks apart, so a difference may be a little below nothing.
  const auto passed = [](double a, double b) { return std::max(0.0, b - a); };
  const double busy = passed(before.busy, after.busy);
  const double idle = passed(before.idle, after.idle);
  const double steal = passed(before.steal, after.steal);
  const double own = std::min(passed(before.own, after.own), busy);
  const double all = busy + idle + steal;
  if (!(all > 0)) return {};
  return {.own = own / all, .others = (busy - own) / all, .steal = steal / all, .idle = idle / all};
}

}  // namespace weir::sys
