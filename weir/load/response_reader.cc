#include "weir/load/response_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weir::load {
namespace {

constexpr std::uint32_t kMaxHeadBytes = 64 * 1024;

bool same(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, [&](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <class T>
bool read_whole(std::string_view text, T& into, int base) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), into, base);
  return fault == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<std::optional<std::string_view>> ResponseReader::line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const std::size_t taken = end == std::string_view::npos ? bytes.size() : end + 1;
  line_bytes_ += static_cast<std::uint32_t>(std::min<std::size_t>(taken, kMaxHeadBytes + 1));
  if (line_bytes_ > kMaxHeadBytes) {
    return fail(Code::kTooLarge, "the head of the answer is over 64 KiB");
  }
  std::string_view found = bytes.substr(0, taken);
  bytes.remove_prefix(taken);
  if (end == std::string_view::npos) {
    partial_ += found;
    return std::nullopt;
  }
  if (!partial_.empty()) {
    whole_ = std::move(partial_);
    partial_.clear();
    whole_ += found;
    found = whole_;
  }
  found.remove_suffix(1);
  if (found.ends_with('\r')) found.remove_suffix(1);
  return found;
}

Status ResponseReader::field(std::string_view name, std::string_view value) {
  if (same(name, "content-length")) {
    std::uint64_t length = 0;
    if (!read_whole(value, length, 10) || (length_ && *length_ != length)) {
      return fail(Code::kCorrupt, "the answer's Content-Length is not a number");
    }
    length_ = length;
  } else if (same(name, "transfer-encoding")) {
    if (!same(value, "chunked")) {
      return fail(Code::kCorrupt, "the answer's Transfer-Encoding is not chunked");
    }
    chunked_ = true;
  } else if (same(name, "connection")) {
    if (same(value, "close")) keeps_ = false;
    if (same(value, "keep-alive")) keeps_ = true;
  }
  return {};
}

Status ResponseReader::head_line(std::string_view text) {
  if (status_ == 0) {
    const bool is_http = text.starts_with("HTTP/1.") && text.size() >= 12 && text[8] == ' ';
    if (!is_http || !read_whole(text.substr(9, 3), status_, 10) || status_ < 100) {
      return fail(Code::kCorrupt, fmt::format("the server does not answer in HTTP/1.1: \"{}\"",
                                              text.substr(0, 60)));
    }
    if (text[7] == '0') keeps_ = false;
    return {};
  }
  if (text.empty()) {
    head_ends();
    return {};
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return fail(Code::kCorrupt, "a header of the answer has no colon");
  }
  return field(text.substr(0, colon), trimmed(text.substr(colon + 1)));
}

void ResponseReader::head_ends() {
  line_bytes_ = 0;
  if (status_ < 200) {  // Interim: the answer is still to come.
    status_ = 0;
    return;
  }
  if (status_ == 204 || status_ == 304) {
    state_ = State::kDone;
  } else if (chunked_) {
    state_ = State::kChunkSize;
  } else if (length_) {
    left_ = *length_;
    state_ = left_ > 0 ? State::kLength : State::kDone;
  } else {
    keeps_ = false;
    state_ = State::kUntilClose;
  }
}

Status ResponseReader::chunk_size(std::string_view text) {
  line_bytes_ = 0;
  text = trimmed(text.substr(0, text.find(';')));
  if (text.empty() || text.size() > 15 || !read_whole(text, left_, 16)) {
    return fail(Code::kCorrupt, "a chunk of the answer has no size");
  }
  state_ = left_ > 0 ? State::kChunk : State::kTrailers;
  return {};
}

Result<std::string_view> ResponseReader::next(std::string_view& bytes) {
  while (!bytes.empty() && state_ != State::kDone) {
    began_ = true;
    if (state_ == State::kUntilClose) return std::exchange(bytes, {});
    if (state_ == State::kLength || state_ == State::kChunk) {
      const std::string_view piece = bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size()));
      bytes.remove_prefix(piece.size());
      left_ -= piece.size();
      if (left_ == 0) state_ = state_ == State::kChunk ? State::kChunkEnd : State::kDone;
      return piece;
    }
    WEIR_TRY(const auto text, line(bytes));
    if (!text) break;
    switch (state_) {
      case State::kHead:
        WEIR_TRY_STATUS(head_line(*text));
        break;
      case State::kChunkSize:
        WEIR_TRY_STATUS(chunk_size(*text));
        break;
      case State::kChunkEnd:
        if (!text->empty()) return fail(Code::kCorrupt, "a chunk of the answer is too long");
        line_bytes_ = 0;
        state_ = State::kChunkSize;
        break;
      case State::kTrailers:
        if (text->empty()) state_ = State::kDone;
        break;
      default:
        break;
    }
  }
  return std::string_view();
}

}  // namespace weir::load
