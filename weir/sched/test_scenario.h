#pragma once

/// A tiny language for scheduler tests, and its runner over Drive (virtual time, a modelled step).
/// One statement a line; `#` starts a comment; times are `20ms` or `1.5s`; N..M is uniform.
///
///   at TIME N chats [named WORD] [of tenant K] [in space K] [prompt N[..M]] [shared N]
///                   [answer N[..M]] [max N] [priority critical|standard|background]
///                   [deadline TIME] [every TIME]
///   at TIME cancel all|half|WORD
///   until TIME|idle
///
/// `every` spaces the arrivals; `shared` is how many first tokens of the prompt all chats of the
/// name have in common; `max` is max_tokens, otherwise the answer's length; `deadline` counts from
/// the arrival. `cancel half` takes every second of those that have not ended. `at` plans an event,
/// `until` lets time pass. Thread safety: none; one owner.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/sched/test_drive.h"

namespace weir::sched {

struct Range {
  std::uint32_t least = 1;
  std::uint32_t most = 1;
};

struct Chats {
  Instant at{};
  std::uint32_t count = 1;
  std::string name;
  policy::TenantId tenant{};
  kv::Namespace space{};
  Range prompt{16, 16};
  std::uint32_t shared = 0;
  Range answer{16, 16};
  std::uint32_t max_tokens = 0;  ///< 0: the answer's length.
  Priority priority = Priority::kStandard;
  std::optional<Duration> deadline;
  Duration every{};
};

struct Cancel {
  Instant at{};
  std::string whom;
};

struct Until {
  std::optional<Instant> at;  ///< Nothing: until idle.
};

using Statement = std::variant<Chats, Cancel, Until>;

[[nodiscard]] Result<std::vector<Statement>> parse_scenario(std::string_view script);

class Scenario {
 public:
  explicit Scenario(const Options& options,
                    policy::StepCost cost = policy::StepCost({}, {1e9, 1e9, 0.02}),
                    std::uint64_t seed = 1)
      : drive(options, cost), seed_(seed) {}

  /// Plays the script; may be called again, and time goes on. A script that does not parse and
  /// requests that are stuck fail the test.
  void run(std::string_view script);

  struct Record {
    SequenceId id{};
    std::string name;
    Instant at{};  ///< When the script wanted it; latencies count from here.
    bool accepted = false;
  };
  [[nodiscard]] const Drive::Story& story(const Record& r) const { return drive.stories.at(r.id); }
  [[nodiscard]] std::vector<const Record*> named(std::string_view name) const;

  /// Of all accepted chats of the name: time to first token, gaps between tokens, time to the end.
  [[nodiscard]] std::vector<Duration> first_tokens(std::string_view name) const;
  [[nodiscard]] std::vector<Duration> gaps(std::string_view name) const;
  [[nodiscard]] std::vector<Duration> totals(std::string_view name) const;
  [[nodiscard]] std::size_t ended(std::string_view name, End how) const;

  Drive drive;
  std::vector<Record> records;
  std::function<void(const StepPlan&)> on_plan = [](const StepPlan&) {};

 private:
  void advance(std::optional<Instant> until);
  void arrive(Instant at, const Chats& chats);
  void cancel(const std::string& whom);
  bool step();
  [[nodiscard]] std::uint32_t draw(Range range, std::uint64_t stream) const;

  std::uint64_t seed_;
  std::multimap<Instant, std::function<void()>> events_;
};

/// The smallest value that `part` of them do not exceed. REQUIRES: some, 0 < part <= 1.
[[nodiscard]] Duration percentile(std::vector<Duration> values, double part);
[[nodiscard]] Duration mean(const std::vector<Duration>& values);

}  // namespace weir::sched
