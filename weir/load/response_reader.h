#pragma once

/// The framing of one HTTP/1.1 response, byte by byte as it comes: status, then the pieces of its
/// body (Content-Length, chunked, or up to the end of the connection), without a copy. What comes
/// from the outside is bounded: kCorrupt for what is not HTTP, kTooLarge for a head over 64 KiB.
/// Thread safety: none; one owner.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::load {

class ResponseReader {
 public:
  /// Takes bytes from the front of `bytes` and returns the next piece of the body: a view into
  /// them, empty when more bytes are needed or the response is over.
  [[nodiscard]] Result<std::string_view> next(std::string_view& bytes);

  /// The connection ended: true when that is where this response may end.
  [[nodiscard]] bool ends_with_connection() const { return state_ == State::kUntilClose; }

  [[nodiscard]] bool done() const { return state_ == State::kDone; }
  [[nodiscard]] bool began() const { return began_; }   ///< A byte of the response has come.
  [[nodiscard]] int status() const { return status_; }  ///< 0 until the head is whole.
  [[nodiscard]] bool keeps_connection() const { return keeps_; }

 private:
  enum class State : std::uint8_t {
    kHead,
    kLength,
    kChunkSize,
    kChunk,
    kChunkEnd,
    kTrailers,
    kUntilClose,
    kDone,
  };
  /// The next line without its end, or nothing while it is not whole.
  [[nodiscard]] Result<std::optional<std::string_view>> line(std::string_view& bytes);
  [[nodiscard]] Status head_line(std::string_view text);
  [[nodiscard]] Status field(std::string_view name, std::string_view value);
  void head_ends();
  [[nodiscard]] Status chunk_size(std::string_view text);

  State state_ = State::kHead;
  bool began_ = false;
  bool keeps_ = true;
  bool chunked_ = false;
  int status_ = 0;
  std::optional<std::uint64_t> length_;
  std::uint64_t left_ = 0;        ///< Of the body or the chunk.
  std::uint32_t line_bytes_ = 0;  ///< Of the head or the trailers so far.
  std::string partial_;           ///< A line whose end has not come.
  std::string whole_;             ///< A line that came in parts, for the view returned.
};

}  // namespace weir::load
