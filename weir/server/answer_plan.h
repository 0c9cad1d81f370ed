#pragma once

/// From the bytes of a request to what the engine is to do and how the answer is to look: decode,
/// find the model, render, encode. May take long (megabytes of text), so it runs on a Worker.
/// Thread safety: pure functions of their arguments.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/api/answer.h"
#include "weir/base/result.h"
#include "weir/engine/engine.h"
#include "weir/server/served_model.h"

namespace weir::server {

struct ChoicePlan {
  engine::Request request;  ///< All but on_ready.
  std::string echo;         ///< Text before the answer.
};

struct AnswerPlan {
  api::AnswerHead head;
  bool stream = false;
  std::vector<std::string> stops;
  std::vector<ChoicePlan> choices;  ///< In the order of the answer's choices.
  std::uint64_t prompt_tokens = 0;  ///< Of all prompts, each counted once.
};

/// `id` is the HTTP request's; `now` is in unix seconds.
[[nodiscard]] Result<AnswerPlan> plan_chat(std::string_view body, const ServedModel& model,
                                           const std::string& id, std::int64_t now);
[[nodiscard]] Result<AnswerPlan> plan_completion(std::string_view body, const ServedModel& model,
                                                 const std::string& id, std::int64_t now);

}  // namespace weir::server
