#pragma once

/// GPT-2's printable alphabet: each byte as one character, so that a vocabulary of bytes can be
/// stored as text. Bytes 21..7E, A1..AC and AE..FF are themselves, the other 68 follow U+0100 in
/// order. Thread safety: pure functions.

#include <optional>
#include <string>
#include <string_view>

namespace weir::text {

/// The bytes a stored text means, or nothing when a character is outside the alphabet.
[[nodiscard]] std::optional<std::string> bytes_from_alphabet(std::string_view stored);

[[nodiscard]] std::string alphabet_from_bytes(std::string_view bytes);

}  // namespace weir::text
