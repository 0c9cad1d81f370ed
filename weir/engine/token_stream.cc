#include "weir/engine/token_stream.h"

#include <iterator>
#include <utility>

namespace weir::engine {
namespace {

/// Tokens that a reader is behind by now and then; put() allocates only beyond.
constexpr std::size_t kUsualLag = 32;

}  // namespace

std::string_view name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "error";
}

TokenStream::TokenStream(std::function<void()> on_ready, const sys::Clock* clock, SequenceId id)
    : on_ready_(std::move(on_ready)), clock_(clock), id_(id) {
  events_.reserve(kUsualLag);
}

std::optional<Finish> TokenStream::take(std::vector<TokenEvent>& events) {
  const std::lock_guard lock(mutex_);
  unread_ = false;
  events.insert(events.end(), std::make_move_iterator(events_.begin()),
                std::make_move_iterator(events_.end()));
  events_.clear();
  return std::exchange(finish_, std::nullopt);
}

void TokenStream::wait(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  ready_.wait_for(lock, timeout, [this] { return unread_; });
}

void TokenStream::cancel() { ask(Asked::kCancel, 0); }

void TokenStream::stop(std::uint32_t useful) { ask(Asked::kStop, useful); }

void TokenStream::ask(Asked what, std::uint32_t useful) {
  if (asking_.exchange(true, std::memory_order_relaxed)) return;
  if (clock_ != nullptr) asked_at_ = clock_->now();
  useful_ = useful;
  asked_.store(what, std::memory_order_release);
}

void TokenStream::put(TokenEvent event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
  unread_ = true;
}

void TokenStream::finish(Finish finish) {
  const std::lock_guard lock(mutex_);
  finish_ = std::move(finish);
  unread_ = true;
}

void TokenStream::wake() {
  ready_.notify_one();
  if (on_ready_) on_ready_();
}

}  // namespace weir::engine
