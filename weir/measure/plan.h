#pragma once

/// A planned load: what will be sent, when, and by whom, before anything is sent. Prompts are
/// described by (seed, tokens) parts, so two requests that begin with equal parts begin with equal
/// text, which is how a workload says what a prefix cache may find. Thread safety: values.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "weir/spec/time.h"

namespace weir::measure {

enum class Endpoint : std::uint8_t { kChat, kCompletions, kEmbeddings };

/// `tokens` tokens of text that depends on the seed alone.
struct PromptPart {
  std::uint64_t seed = 0;
  std::uint32_t tokens = 0;
  bool operator==(const PromptPart&) const = default;
};

inline constexpr std::uint32_t kNoNext = std::numeric_limits<std::uint32_t>::max();
inline constexpr Duration kNever = Duration::max();

struct PlannedRequest {
  Duration at{0};                  ///< Since the start. In a closed loop only the order counts.
  std::uint32_t tenant = 0;        ///< Index into Plan::tenants.
  std::vector<PromptPart> system;  ///< Its own message in a chat; else in front of the rest.
  std::vector<PromptPart> user;
  std::uint32_t output_tokens = 1;
  Duration leave_after = kNever;  ///< The client hangs up so long after sending.
  /// The next turn of the conversation: sent `think` after this answer ended, with all turns before
  /// it. A request that is someone's next is not sent on its own.
  std::uint32_t next = kNoNext;
  Duration think{0};
  bool opens = true;  ///< False for a request that is someone's next.

  [[nodiscard]] std::uint64_t prompt_tokens() const {
    std::uint64_t sum = 0;
    for (const auto& part : system) sum += part.tokens;
    for (const auto& part : user) sum += part.tokens;
    return sum;
  }
};

struct Tenant {
  std::string name;
  std::string key;    ///< Sent as a bearer token; empty: none.
  double weight = 1;  ///< Its share of the requests.
};

struct Plan {
  std::vector<Tenant> tenants;           ///< At least one.
  std::vector<PlannedRequest> requests;  ///< Those that open are in order of `at`.
};

}  // namespace weir::measure
