#pragma once

/// From lengths to a plan: who sends, which prompts begin alike, who holds a conversation, who
/// leaves early, and which long prompts get in the way. Thread safety: pure functions.

#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/result.h"
#include "weir/measure/lengths.h"
#include "weir/measure/plan.h"

namespace weir::measure {

inline constexpr std::uint32_t kMaxRequests = 1'000'000;

/// One request as lengths: drawn, or read from a trace.
struct Entry {
  Duration at{0};
  std::uint32_t input = 1;
  std::uint32_t output = 1;
  /// Names of the prompt's blocks, front first: equal names, equal text. Empty: no block is shared.
  std::vector<std::uint64_t> blocks = {};
  std::uint32_t block_tokens = 0;
};

[[nodiscard]] std::vector<Entry> synthetic_entries(const LengthSpec& input,
                                                   const LengthSpec& output, std::uint32_t count,
                                                   std::uint64_t seed);

struct WorkloadSpec {
  std::uint64_t seed = 0;
  std::uint32_t shared_prefix_tokens = 0;  ///< Put in front of each prompt, as the system message.
  std::uint32_t shared_prefixes = 1;       ///< So many different ones, drawn evenly.
  std::uint32_t turns = 1;                 ///< Consecutive entries that make one conversation.
  Duration think{0};                 ///< Mean (exponential) between an answer and the next turn.
  double leave_fraction = 0;         ///< Of the requests, whose client hangs up early,
  Duration leave_after{0};           ///< after an exponential time with this mean.
  std::uint32_t long_every = 0;      ///< Each so-manieth request is a long prompt instead, by a
  std::uint32_t long_tokens = 0;     ///< tenant named "long", so that figures tell them apart.
  std::vector<Tenant> tenants = {};  ///< Empty: one without a key.
};

/// kInvalidArgument names the field at fault.
[[nodiscard]] Status validate(const WorkloadSpec& spec);

/// REQUIRES: the spec is valid, and `entries` are in order of `at`.
[[nodiscard]] Plan make_plan(std::span<const Entry> entries, const WorkloadSpec& spec);

}  // namespace weir::measure
