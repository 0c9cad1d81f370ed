#pragma once

/// A text that knows, byte by byte, who wrote it: the template (trusted) or the conversation
/// (untrusted). Every operation of the engine builds its results from pieces of Texts, so the
/// origin survives concatenation, slices, filters and methods.
///
/// Invariant: origin_ is empty while all bytes share one origin, else it holds one char per byte.
/// Thread safety: a value.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::jinja {

/// A maximal piece of one origin.
struct Piece {
  std::string text;
  bool trusted = false;
};

class Text {
 public:
  Text() = default;
  Text(std::string bytes, bool trusted) : bytes_(std::move(bytes)), uniform_(trusted) {}

  [[nodiscard]] std::string_view view() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

  /// REQUIRES: position < size().
  [[nodiscard]] bool trusted_at(std::size_t position) const {
    return origin_.empty() ? uniform_ : origin_[position] != 0;
  }
  [[nodiscard]] bool all_trusted() const;  ///< True for the empty text.

  void append(std::string_view bytes, bool trusted);
  void append(const Text& other) { append(other, 0, other.size()); }
  /// REQUIRES: from + count <= other.size().
  void append(const Text& other, std::size_t from, std::size_t count);

  [[nodiscard]] Text slice(std::size_t from, std::size_t count) const;
  [[nodiscard]] std::vector<Piece> pieces() const;

 private:
  void spread();  ///< From one origin for all to one per byte.

  std::string bytes_;
  std::string origin_;  ///< 1 trusted, 0 not; empty: all are uniform_.
  bool uniform_ = true;
};

}  // namespace weir::jinja
