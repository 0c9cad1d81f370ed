#pragma once

/// Python's str as operations on Texts: positions are characters, white space, case and digits are
/// Unicode's. Each result keeps the origin of the bytes it was made from.
/// Texts are valid UTF-8. Thread safety: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/jinja/text.h"

namespace weir::jinja {

[[nodiscard]] bool is_space(std::uint32_t c);  ///< str.isspace, and \s of re.
[[nodiscard]] bool is_alpha(std::uint32_t c);
[[nodiscard]] bool is_decimal(std::uint32_t c);
[[nodiscard]] bool is_digit(std::uint32_t c);
[[nodiscard]] bool is_numeric(std::uint32_t c);
[[nodiscard]] bool is_alnum(std::uint32_t c);
[[nodiscard]] bool is_printable(std::uint32_t c);  ///< What repr() shows as it is.
[[nodiscard]] bool is_upper(std::uint32_t c);
[[nodiscard]] bool is_lower(std::uint32_t c);
[[nodiscard]] bool is_title(std::uint32_t c);

/// Calls f(code_point, byte offset, byte length) for each character.
template <class F>
void for_each_character(std::string_view text, F f);

[[nodiscard]] bool is_upper_text(std::string_view text);  ///< str.isupper
[[nodiscard]] bool is_lower_text(std::string_view text);  ///< str.islower

[[nodiscard]] std::size_t length(std::string_view text);
/// The byte offset of character `index`; text.size() at or past the end.
[[nodiscard]] std::size_t byte_offset(std::string_view text, std::size_t index);
/// Byte offsets of all characters, and text.size() last.
[[nodiscard]] std::vector<std::size_t> character_offsets(std::string_view text);

[[nodiscard]] Text upper(const Text& text);
[[nodiscard]] Text lower(const Text& text);
[[nodiscard]] Text swapcase(const Text& text);
[[nodiscard]] Text capitalize(const Text& text);
[[nodiscard]] Text title(const Text& text);         ///< str.title(): after anything uncased.
[[nodiscard]] Text title_filter(const Text& text);  ///< Jinja's title: after space - ( { [ <.

enum class Side : std::uint8_t { kBoth, kLeft, kRight };
/// Without `chars`: white space.
[[nodiscard]] Text strip(const Text& text, Side side, std::optional<std::string_view> chars = {});

/// REQUIRES: !separator.empty(). `limit` < 0: no limit.
[[nodiscard]] std::vector<Text> split(const Text& text, std::string_view separator,
                                      std::int64_t limit);
[[nodiscard]] std::vector<Text> rsplit(const Text& text, std::string_view separator,
                                       std::int64_t limit);
[[nodiscard]] std::vector<Text> split_spaces(const Text& text, std::int64_t limit);
[[nodiscard]] std::vector<Text> rsplit_spaces(const Text& text, std::int64_t limit);
[[nodiscard]] std::vector<Text> split_lines(const Text& text, bool keep_ends);

/// Occurrences of `part` that do not overlap.
[[nodiscard]] std::size_t count(std::string_view text, std::string_view part);
/// The first `limit` occurrences (all when < 0) of `from` become `to`.
[[nodiscard]] Text replace(const Text& text, std::string_view from, const Text& to,
                           std::int64_t limit);

}  // namespace weir::jinja

#include "weir/base/utf8.h"

namespace weir::jinja {

template <class F>
void for_each_character(std::string_view text, F f) {
  for (std::size_t i = 0; i < text.size();) {
    const utf8::Decoded d = utf8::decode(text, i);
    f(d.code_point, i, static_cast<std::size_t>(d.size));
    i += d.size;
  }
}

}  // namespace weir::jinja
