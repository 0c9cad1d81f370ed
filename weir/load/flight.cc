#include "weir/load/flight.h"

#include <fmt/format.h>

namespace weir::load {
namespace {

using measure::Outcome;

/// Of an error's body so much is kept; an embedding of 16384 numbers stays below the other.
constexpr std::size_t kMaxErrorBody = 4096;
constexpr std::size_t kMaxWholeBody = std::size_t{4} << 20;

}  // namespace

void Flight::end(Instant now, Outcome outcome, std::string_view detail) {
  if (ended_) return;
  ended_ = true;
  record_.outcome = outcome;
  record_.detail = detail;
  record_.done = now;
  record_.status = response_.status();
  if (!record_.usage_told) record_.completion_tokens = record_.pieces;
}

void Flight::feed(std::string_view bytes, Instant now) {
  while (!ended_) {
    const auto piece = response_.next(bytes);
    if (!piece) return end(now, Outcome::kMalformed, piece.error().message);
    if (!piece->empty()) take_piece(*piece, now);
    if (response_.done()) return finish(now);
    if (piece->empty()) return;
  }
}

void Flight::take_piece(std::string_view piece, Instant now) {
  if (response_.status() != 200) {
    body_.append(piece.substr(0, kMaxErrorBody - std::min(kMaxErrorBody, body_.size())));
    return;
  }
  if (!spec_.streamed) {
    if (body_.size() + piece.size() > kMaxWholeBody) {
      return end(now, Outcome::kMalformed, "the answer is over 4 MiB");
    }
    body_.append(piece);
    return;
  }
  while (!ended_) {
    const auto data = events_.next(piece);
    if (!data) return end(now, Outcome::kMalformed, data.error().message);
    if (!*data) return;
    take_event(**data, now);
  }
}

void Flight::take_event(std::string_view data, Instant now) {
  if (data == "[DONE]") {
    done_mark_ = true;
    return;
  }
  if (holds_text(data)) {
    if (record_.pieces++ == 0) {
      record_.first_token = now;
    } else {
      record_.gaps.push_back(now - record_.last_token);
    }
    record_.last_token = now;
    if (spec_.keep_text) text_ += text_of(data);
  }
  if (const auto usage = usage_of(data)) {
    record_.usage_told = true;
    record_.prompt_tokens = usage->prompt_tokens;
    record_.completion_tokens = usage->completion_tokens;
    record_.cached_tokens = usage->cached_tokens;
  }
  if (auto error = error_of(data)) error_ = std::move(*error);
}

void Flight::finish(Instant now) {
  if (response_.status() != 200) {
    const auto message = error_of(body_);
    return end(now, Outcome::kStatus,
               message ? *message : fmt::format("HTTP status {}", response_.status()));
  }
  if (!spec_.streamed) {
    record_.first_token = record_.last_token = now;
    if (const auto usage = usage_of(body_)) {
      record_.usage_told = true;
      record_.prompt_tokens = usage->prompt_tokens;
      record_.completion_tokens = usage->completion_tokens;
      record_.cached_tokens = usage->cached_tokens;
    }
    return end(now, Outcome::kCompleted, "");
  }
  if (!error_.empty()) return end(now, Outcome::kError, error_);
  if (!done_mark_) return end(now, Outcome::kBroken, "the stream ended without [DONE]");
  // An answer whose tokens are all empty text (special tokens) has no first piece to time.
  if (record_.pieces == 0) record_.first_token = record_.last_token = now;
  end(now, Outcome::kCompleted, "");
}

void Flight::cut(Instant now, std::string_view why) {
  if (response_.ends_with_connection()) return finish(now);
  end(now, response_.began() ? Outcome::kBroken : Outcome::kNoConnect, why);
}

}  // namespace weir::load
