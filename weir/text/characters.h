#pragma once

/// Questions about single characters, answered as the reference tokenizers' languages answer them
/// (Unicode categories through utf8proc).
/// Thread safety: pure functions.

#include <cstdint>
#include <string_view>

namespace weir::text {

[[nodiscard]] bool is_white_space(std::uint32_t c);      ///< The property White_Space.
[[nodiscard]] bool is_word_character(std::uint32_t c);   ///< A regular expression's \w.
[[nodiscard]] bool is_mark(std::uint32_t c);             ///< Category M.
[[nodiscard]] bool is_nonspacing_mark(std::uint32_t c);  ///< Category Mn.
[[nodiscard]] bool is_other(std::uint32_t c);            ///< Categories Cc, Cf, Co.
[[nodiscard]] bool is_chinese(std::uint32_t c);          ///< BERT's list of CJK ideographs.

/// The character that ends just before `position`, or that begins at it; 0xFFFFFFFF at the ends.
[[nodiscard]] std::uint32_t character_before(std::string_view text, std::size_t position);
[[nodiscard]] std::uint32_t character_at(std::string_view text, std::size_t position);

}  // namespace weir::text
