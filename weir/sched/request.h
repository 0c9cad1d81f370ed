#pragma once

/// A request as the scheduler sees it: who asks, what is known of its size, how urgent it is.
/// Thread safety: a value.

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/base/ids.h"
#include "weir/kv/ledger.h"
#include "weir/policy/order.h"
#include "weir/spec/priority.h"
#include "weir/spec/time.h"

namespace weir::sched {

using kv::SequenceId;

struct Request {
  SequenceId id{};
  policy::TenantId tenant{};
  kv::Namespace space{};  ///< Whose cached pages it may share.
  Priority priority = Priority::kStandard;
  std::vector<TokenId> prompt;   ///< At least one token.
  std::uint32_t max_tokens = 1;  ///< Of the answer; prompt + max_tokens fits the context.
  std::optional<Instant> deadline;
  /// Another answer to the prompt of `leader`: waits for its prefill, then shares its pages.
  std::optional<SequenceId> leader;
};

/// Why a request is not accepted.
enum class Refusal : std::uint8_t {
  kTooManyRequests,  ///< The queue's bound in requests,
  kTooManyTokens,    ///< or in tokens,
  kTooOld,           ///< or the head of the queue has waited longer than the queue's bound in age.
  kNeverFits,        ///< It needs more room than its class may ever have.
};

/// How a request ended.
enum class End : std::uint8_t {
  kFinished,  ///< The engine said so (stop token, length).
  kCancelled,
  kDeadline,
  kFailed,  ///< The engine said so (its logits were not finite).
};

}  // namespace weir::sched
