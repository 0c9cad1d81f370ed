#include "weir/server/generation.h"

#include <utility>

namespace weir::server {
namespace {

std::size_t characters(std::string_view bytes) {
  std::size_t count = 0;
  for (const char c : bytes) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

}  // namespace

Result<Generation> Generation::create(const text::Tokenizer& tokenizer,
                                      const std::vector<std::string>& stops, bool logprobs) {
  WEIR_TRY(auto matcher, text::StopMatcher::create(stops));
  return Generation(tokenizer, std::move(matcher), logprobs);
}

Generation::Generation(const text::Tokenizer& tokenizer, text::StopMatcher matcher, bool logprobs)
    : tokenizer_(&tokenizer),
      detokenizer_(tokenizer),
      matcher_(std::move(matcher)),
      logprobs_(logprobs) {}

Generation::Delta Generation::push(std::span<const engine::TokenEvent> events) {
  Delta delta;
  for (const auto& event : events) {
    if (stopped_) break;
    ++tokens_;
    if (logprobs_) remember(event);
    auto step = matcher_.push(detokenizer_.push(event.token));
    delta.text += step.text;
    stopped_ = step.stopped;
  }
  bytes_out_ += delta.text.size();
  release(delta, stopped_);
  return delta;
}

Generation::Delta Generation::finish() {
  Delta delta;
  if (stopped_) return delta;
  auto step = matcher_.push(detokenizer_.finish());
  delta.text = std::move(step.text);
  stopped_ = step.stopped;
  if (!stopped_) delta.text += matcher_.finish();
  bytes_out_ += delta.text.size();
  release(delta, true);
  return delta;
}

void Generation::remember(const engine::TokenEvent& event) {
  const std::string_view bytes = tokenizer_->bytes(event.token);
  Pending pending{{{std::string(bytes), event.logprob}, {}, characters_in_}, bytes_in_};
  for (const auto& [token, logprob] : event.top) {
    pending.entry.top.push_back({std::string(tokenizer_->bytes(token)), logprob});
  }
  bytes_in_ += bytes.size();
  characters_in_ += characters(bytes);
  pending_.push_back(std::move(pending));
}

void Generation::release(Delta& delta, bool last) {
  while (!pending_.empty()) {
    auto& [entry, begin] = pending_.front();
    const std::size_t end = begin + entry.token.bytes.size();
    if (end > bytes_out_ && !last) return;
    if (end > bytes_out_ && stopped_) {
      if (begin >= bytes_out_) break;  // All of it was cut away, and of those behind it.
      entry.token.bytes.resize(bytes_out_ - begin);
    }
    delta.entries.push_back(std::move(entry));
    pending_.pop_front();
  }
  if (last) pending_.clear();
}

}  // namespace weir::server
