#pragma once

/// Carries out a plan against a server: one thread, one epoll (through Asio), bodies made before
/// they are needed, instants taken when bytes are read. An open loop sends each request at its
/// planned instant whatever became of the others; a closed loop keeps a number of users busy.
///
/// It stops itself: at the end of the plan, when its time for sending is over and what runs has had
/// `drain` more, when `stop` says so, when more than `max_outstanding` requests of an open loop
/// wait (the server is drowned), when more than `most_missed` requests have missed the objective,
/// or when `give_up_after` requests in a row fail without the server refusing them for load. What
/// still runs then is hung up on, so that a server that notices may drop its work. Thread safety:
/// each call runs on its caller's thread and blocks it.

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/load/target.h"
#include "weir/measure/plan.h"
#include "weir/measure/record.h"
#include "weir/measure/request_body.h"
#include "weir/measure/slo.h"

namespace weir::load {

struct LoadOptions {
  measure::Endpoint endpoint = measure::Endpoint::kChat;
  std::uint32_t concurrency = 0;  ///< Users of a closed loop; 0: open loop.
  std::uint32_t max_outstanding = 1024;
  Duration send_for = measure::kNever;
  Duration drain = std::chrono::seconds(60);
  Duration request_timeout = std::chrono::seconds(600);
  std::uint32_t give_up_after = 20;
  std::uint64_t max_body_bytes = std::uint64_t{512} << 20;  ///< Of all bodies together.
  measure::Slo slo = {};                                    ///< What `most_missed` counts.
  /// A request has missed when it ended without meeting the objective, or when the time to its
  /// first token is over without one.
  std::uint32_t most_missed = std::numeric_limits<std::uint32_t>::max();
};

struct LoadRun {
  std::vector<measure::RequestRecord> records;  ///< One for each of the plan's requests, in order.
  Duration duration{0};                         ///< To the last end.
  double client_cpu_s = 0;                      ///< Of this thread, while the load ran.
  std::string stopped;                          ///< Why before its plan; empty: it was not.
};

/// kUnavailable when the server's address cannot be reached at all, kTooLarge when the bodies are
/// over their bound.
[[nodiscard]] Result<LoadRun> run_load(const Target& target, const LoadOptions& options,
                                       const measure::Plan& plan, const measure::BodyWriter& bodies,
                                       const std::function<bool()>& stop);

}  // namespace weir::load
