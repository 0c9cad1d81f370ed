#pragma once

/// From the bytes of a request to what the engine is to do and how the answer is to look: decode,
/// find the model, render, encode. May take long (megabytes of text), so it runs on a Worker.
/// Thread safety: pure functions of their arguments.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/api/answer.h"
#include "weir/base/result.h"
#include "weir/engine/engine.h"
#include "weir/server/served_model.h"

namespace weir::server {

struct ChoicePlan {
  engine::Request request;  ///< All but on_ready and the leader.
  /// The choice whose prompt this one repeats.
  std::optional<std::size_t> leader;
  std::string echo;  ///< Text before the answer.
};

struct AnswerPlan {
  api::AnswerHead head;
  bool stream = false;
  bool timings = false;
  policy::TenantId tenant{};
  std::vector<std::string> stops;
  std::vector<ChoicePlan> choices;  ///< In the order of the answer's choices.
  std::uint64_t prompt_tokens = 0;  ///< Of all prompts, each counted once.
};

/// Who asks, and when.
struct Asking {
  std::string id;  ///< The HTTP request's.
  std::int64_t unix_seconds = 0;
  policy::TenantId tenant{};  ///< Whose share of the engine it is served from,
  kv::Namespace space{};      ///< and whose cached prefixes it may use.
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

[[nodiscard]] Result<AnswerPlan> plan_chat(std::string_view body, const ServedModel& model,
                                           const Asking& asking);
[[nodiscard]] Result<AnswerPlan> plan_completion(std::string_view body, const ServedModel& model,
                                                 const Asking& asking);

}  // namespace weir::server
