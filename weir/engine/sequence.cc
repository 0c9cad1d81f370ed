#include "weir/engine/sequence.h"

#include <algorithm>
#include <utility>

namespace weir::engine {

Sequence::Sequence(const Request& request, std::span<const TokenId> end_tokens,
                   std::int32_t vocabulary, std::shared_ptr<TokenStream> stream,
                   sys::Clock::TimePoint accepted_at)
    : request_id_(request.id),
      min_tokens_(request.min_tokens),
      max_tokens_(request.max_tokens),
      top_logprobs_(request.top_logprobs),
      stream_(std::move(stream)),
      accepted_at_(accepted_at),
      sampler_(request.sampling, request.sampling.seed.value(), vocabulary,
               request.prompt.size() + request.max_tokens),
      stops_(request.stop_tokens) {
  if (!request.ignore_eos) stops_.insert(stops_.end(), end_tokens.begin(), end_tokens.end());
  std::sort(stops_.begin(), stops_.end());
  sampler_.saw_prompt(request.prompt);
  timings_.prompt_tokens = static_cast<std::uint32_t>(request.prompt.size());
}

Sequence::Choice Sequence::choose(const model::LogitRow& row, model::SamplerWorkspace& workspace) {
  const bool too_early = chosen_ < min_tokens_;
  const auto token =
      sampler_.sample(row, chosen_, workspace,
                      too_early ? std::span<const TokenId>(stops_) : std::span<const TokenId>());
  if (!token) {
    return {std::nullopt, FinishReason::kError,
            Error{Code::kInternal, "the model gave no usable number for the next token", {}}};
  }
  if (std::binary_search(stops_.begin(), stops_.end(), *token))
    return {std::nullopt, FinishReason::kStop, {}};
  TokenEvent event{*token, 0.0F, {}};
  if (top_logprobs_ >= 0) {
    auto read = model::logprobs(row, *token, static_cast<std::size_t>(top_logprobs_), workspace);
    event.logprob = read.chosen;
    event.top = std::move(read.top);
  }
  sampler_.saw_answer(*token);
  stream_->put(std::move(event));
  if (++chosen_ == max_tokens_) return {token, FinishReason::kLength, {}};
  return {token, std::nullopt, {}};
}

void Sequence::admitted(const sched::Admitted& how, sched::Held waited_for,
                        sys::Clock::TimePoint now) {
  if (started_at_) {  // Back after a pre-emption; some of its pages may still have been there.
    timings_.recomputed_tokens += lost_ - std::min(lost_, how.cached_tokens);
    return;
  }
  started_at_ = std::max(now, accepted_at_);
  timings_.queue = *started_at_ - accepted_at_;
  timings_.cached_tokens = how.cached_tokens;
  if (timings_.queue.count() > 0) timings_.waited_for = waited_for;
}

void Sequence::preempted(const sched::Preempted& how) {
  ++timings_.preemptions;
  lost_ = how.lost_tokens;
}

std::optional<std::chrono::nanoseconds> Sequence::token_came(sys::Clock::TimePoint now) {
  const auto gap = now - std::exchange(last_at_, now);
  if (timings_.answer_tokens++ == 0) {
    first_at_ = now;
    return std::nullopt;
  }
  longest_gap_ = std::max(longest_gap_, gap);
  return gap;
}

Timings Sequence::timings(sys::Clock::TimePoint now) const {
  Timings t = timings_;
  if (!started_at_) {
    t.queue = std::max(now, accepted_at_) - accepted_at_;
    return t;
  }
  t.prefill = (t.answer_tokens > 0 ? first_at_ : now) - *started_at_;
  if (t.answer_tokens > 0) t.decode = last_at_ - first_at_;
  return t;
}

}  // namespace weir::engine
