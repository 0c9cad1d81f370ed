#include "weir/engine/sequence.h"

#include <algorithm>
#include <utility>

#include "weir/base/check.h"

namespace weir::engine {

Sequence::Sequence(Request request, std::uint32_t prompt_tokens,
                   std::shared_ptr<TokenStream> stream, sys::Clock::TimePoint accepted_at)
    : request_(std::move(request)), stream_(std::move(stream)), accepted_at_(accepted_at) {
  WEIR_CHECK(request_.sampling.seed.has_value(), "the seed is drawn when a request is accepted");
  timings_.prompt_tokens = prompt_tokens;
}

void Sequence::prepare(std::span<const TokenId> prompt, std::span<const TokenId> end_tokens,
                       std::int32_t vocabulary) {
  if (sampler_) return;
  stops_ = request_.stop_tokens;
  if (!request_.ignore_eos) stops_.insert(stops_.end(), end_tokens.begin(), end_tokens.end());
  std::sort(stops_.begin(), stops_.end());
  sampler_.emplace(request_.sampling, *request_.sampling.seed, vocabulary,
                   prompt.size() + request_.max_tokens);
  sampler_->saw_prompt(prompt);
}

Sequence::Choice Sequence::choose(std::span<const float> logits,
                                  model::SamplerWorkspace& workspace) {
  const bool too_early = chosen_ < request_.min_tokens;
  const auto token =
      sampler_->sample(logits, chosen_, workspace,
                       too_early ? std::span<const TokenId>(stops_) : std::span<const TokenId>());
  if (!token) {
    return {std::nullopt, FinishReason::kError,
            Error{Code::kInternal, "the model gave no usable number for the next token", {}}};
  }
  if (std::binary_search(stops_.begin(), stops_.end(), *token))
    return {std::nullopt, FinishReason::kStop, {}};
  TokenEvent event{*token, 0.0F, {}};
  if (request_.top_logprobs >= 0) {
    auto read =
        model::logprobs(logits, *token, static_cast<std::size_t>(request_.top_logprobs), workspace);
    event.logprob = read.chosen;
    event.top = std::move(read.top);
  }
  sampler_->saw_answer(*token);
  stream_->put(std::move(event));
  if (++chosen_ == request_.max_tokens) return {token, FinishReason::kLength, {}};
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
