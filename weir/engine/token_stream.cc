#include "weir/engine/token_stream.h"

#include <iterator>
#include <utility>

namespace weir::engine {

TokenStream::TokenStream(std::function<void()> on_ready, const sys::Clock* clock)
    : on_ready_(std::move(on_ready)), clock_(clock) {}

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

void TokenStream::cancel() {
  if (cancelling_.exchange(true, std::memory_order_relaxed)) return;
  if (clock_ != nullptr) cancelled_at_ = clock_->now();
  cancelled_.store(true, std::memory_order_release);
}

sys::Clock::TimePoint TokenStream::cancelled_at() const { return cancelled_at_; }

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
