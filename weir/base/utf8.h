#pragma once

/// UTF-8 as a byte-level codec: decoding that never reads past the end, and the question every
/// stream must ask: is the tail of these bytes an unfinished character?
/// Accepts exactly RFC 3629 (no surrogates, no overlong forms, nothing above U+10FFFF).
/// Thread safety: pure functions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::utf8 {

inline constexpr std::uint32_t kReplacement = 0xFFFD;

struct Decoded {
  std::uint32_t code_point;  ///< kReplacement when !valid.
  std::uint8_t size;         ///< Bytes consumed, >= 1; for invalid input the maximal bad subpart.
  bool valid;
};

/// REQUIRES: position < text.size().
[[nodiscard]] Decoded decode(std::string_view text, std::size_t position);

/// REQUIRES: code_point is a Unicode scalar value.
void append(std::string& out, std::uint32_t code_point);

/// The offset of the first byte that is not part of valid UTF-8, or npos.
[[nodiscard]] std::size_t find_invalid(std::string_view text);

/// How many bytes at the end of `text` begin a character that more bytes could complete (0 to 3).
[[nodiscard]] std::size_t unfinished_tail(std::string_view text);

/// `text` with every maximal invalid subpart replaced by U+FFFD (Unicode 15, section 3.9, "best
/// practice").
[[nodiscard]] std::string sanitize(std::string_view text);

}  // namespace weir::utf8
