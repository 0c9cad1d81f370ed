#include "weir/engine/sequence.h"

#include <algorithm>
#include <utility>

#include "weir/base/check.h"
#include "weir/base/math.h"

namespace weir::engine {

Sequence::Sequence(Request request, std::shared_ptr<TokenStream> stream,
                   sys::Clock::TimePoint accepted_at)
    : request_(std::move(request)), stream_(std::move(stream)), accepted_at_(accepted_at) {
  WEIR_CHECK(request_.sampling.seed.has_value(), "the seed is drawn when a request is accepted");
}

void Sequence::start(std::span<const TokenId> end_tokens, std::int32_t vocabulary,
                     sys::Clock::TimePoint now) {
  started_ = true;
  started_at_ = std::max(now, accepted_at_);  // `now` may be older than the newest request.
  stops_ = request_.stop_tokens;
  if (!request_.ignore_eos) stops_.insert(stops_.end(), end_tokens.begin(), end_tokens.end());
  std::sort(stops_.begin(), stops_.end());
  sampler_.emplace(request_.sampling, *request_.sampling.seed, vocabulary,
                   request_.prompt.size() + request_.max_tokens);
  sampler_->saw_prompt(request_.prompt);
  pages_.reserve(ceil_div(static_cast<std::uint32_t>(request_.prompt.size()) + request_.max_tokens,
                          kPageTokens));
}

model::SequenceRows Sequence::next_rows(std::uint32_t chunk, kv::PagePool& pool) {
  std::span<const TokenId> tokens(&last_token_, 1);
  std::uint32_t logit_rows = 1;
  if (in_prompt()) {
    const std::span<const TokenId> left = std::span(request_.prompt).subspan(computed_);
    tokens = left.first(std::min<std::size_t>(left.size(), chunk));
    logit_rows = tokens.size() == left.size() ? 1 : 0;
  }
  in_flight_ = static_cast<std::uint32_t>(tokens.size());
  const std::uint32_t needed = ceil_div(computed_ + in_flight_, kPageTokens);
  while (pages_.size() < needed) pages_.push_back(pool.take());
  return {tokens, computed_, pages_, logit_rows};
}

Sequence::Step Sequence::took(std::span<const float> logits, model::SamplerWorkspace& workspace,
                              sys::Clock::TimePoint now) {
  computed_ += std::exchange(in_flight_, 0);
  if (logits.empty()) return {};
  const bool too_early = answer_size_ < request_.min_tokens;
  const auto token =
      sampler_->sample(logits, answer_size_, workspace,
                       too_early ? std::span<const TokenId>(stops_) : std::span<const TokenId>());
  if (!token) {
    return {false, FinishReason::kError,
            Error{Code::kInternal, "the model gave no usable number for the next token", {}}};
  }
  if (std::binary_search(stops_.begin(), stops_.end(), *token))
    return {false, FinishReason::kStop, {}};
  TokenEvent event{*token, 0.0F, {}};
  if (request_.top_logprobs >= 0) {
    auto read =
        model::logprobs(logits, *token, static_cast<std::size_t>(request_.top_logprobs), workspace);
    event.logprob = read.chosen;
    event.top = std::move(read.top);
  }
  sampler_->saw_answer(*token);
  stream_->put(std::move(event));
  if (answer_size_ == 0) first_at_ = now;
  last_at_ = now;
  last_token_ = *token;
  ++answer_size_;
  if (answer_size_ == request_.max_tokens) return {true, FinishReason::kLength, {}};
  return {true, std::nullopt, {}};
}

void Sequence::give_back_pages(kv::PagePool& pool) {
  for (PageId page : pages_) pool.drop_reference(page);
  pages_.clear();
}

Timings Sequence::timings(sys::Clock::TimePoint now) const {
  Timings t;
  t.prompt_tokens = static_cast<std::uint32_t>(request_.prompt.size());
  t.answer_tokens = answer_size_;
  t.queue = (started_ ? started_at_ : std::max(now, accepted_at_)) - accepted_at_;
  if (!started_) return t;
  t.prefill = (answer_size_ > 0 ? first_at_ : now) - started_at_;
  if (answer_size_ > 0) t.decode = last_at_ - first_at_;
  return t;
}

}  // namespace weir::engine
