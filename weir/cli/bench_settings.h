#pragma once

/// What the flags of `weir bench` say, and the plan they ask for. Thread safety: values.

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/load/run_load.h"
#include "weir/measure/arrivals.h"
#include "weir/measure/plan.h"
#include "weir/measure/slo.h"

namespace CLI {
class App;
}

namespace weir::cli {

struct BenchSettings {
  std::string url;
  std::string model;
  std::string endpoint = "chat";
  std::string api_key;
  std::string label;

  std::vector<double> rates;
  double end_rate = 0;
  double burstiness = 1;
  std::vector<std::uint32_t> users;
  std::uint32_t requests = 0;  ///< 0: what the time and the rate make of it, else 100.
  double seconds = 0;          ///< 0: no limit but the requests.

  std::string input = "128";
  std::string output = "64";
  std::uint64_t seed = 1;
  std::uint32_t shared_prefix = 0;
  std::uint32_t shared_prefixes = 1;
  std::uint32_t turns = 1;
  double think_s = 0;
  double leave_fraction = 0;
  double leave_after_s = 1;
  std::uint32_t long_every = 0;
  std::uint32_t long_tokens = 0;
  std::vector<std::string> tenants;  ///< NAME[=WEIGHT[:KEY]]

  std::string trace;  ///< A file; instead of drawn lengths, and of arrivals unless a rate is given.
  double trace_from_s = 0;
  double trace_seconds = 0;  ///< 0: to its end.
  double stretch = 1;
  double scale_lengths = 1;
  std::uint32_t max_tokens = 0;  ///< Longer requests of a trace are left out; 0: none.

  std::string slo;
  std::uint32_t warmup = 2;
  double temperature = 0;
  bool stop_at_eos = false;
  std::string extra;
  double drain_s = 60;
  double timeout_s = 600;
  double give_up_below = 0;  ///< Percent of the requests that may still meet the objective.
  std::uint32_t max_outstanding = 1024;
  int nice = 5;

  std::string json;
  std::string html;
  bool no_requests = false;
  bool quiet = false;
};

/// The flags that say what is sent and where, for every command that sends load.
void add_target_options(CLI::App& command, BenchSettings& settings);
void add_workload_options(CLI::App& command, BenchSettings& settings);

[[nodiscard]] Result<measure::Endpoint> endpoint_of(const BenchSettings& settings);

/// How a run is loaded: an open loop at a rate, one at a trace's own times, or users of a closed
/// loop.
struct Load {
  double rate = 0;
  std::uint32_t users = 0;  ///< Both 0: the trace's own times.
};

/// The plan of one run. `run` sets runs of a sweep apart, which must not
/// find each other's prompts in the server's cache.
[[nodiscard]] Result<measure::Plan> plan_of(const BenchSettings& settings, const Load& load,
                                            std::uint32_t run);

/// The key that requests before and beside the plan use.
[[nodiscard]] Result<std::string> first_key(const BenchSettings& settings);

/// The workload in one line.
[[nodiscard]] std::string describe(const BenchSettings& settings);

}  // namespace weir::cli
