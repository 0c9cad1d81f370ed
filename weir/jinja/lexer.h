#pragma once

/// Template text to tokens, with Jinja's white space rules as Hugging Face sets them: trim_blocks,
/// lstrip_blocks, and one trailing newline dropped.
/// Thread safety: pure function.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir::jinja {

enum class Token : std::uint8_t {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Lexeme {
  Token token = Token::kEnd;
  std::string text;  ///< Data, name, operator, or the string's unescaped value.
  std::int64_t integer = 0;
  double real = 0;
  std::uint32_t offset = 0;  ///< Into the normalised source.
};

/// Line and column (in characters) of a byte offset, both from 1: "line 3, column 7".
[[nodiscard]] std::string describe_position(std::string_view source, std::size_t offset);

/// An error whose message begins with the position; its subject is kTemplateSubject.
[[nodiscard]] std::unexpected<Error> error_at(std::string_view source, std::size_t offset,
                                              Code code, std::string_view message);
inline constexpr std::string_view kTemplateSubject = "chat_template";

/// All newlines to \n, and one trailing newline dropped.
[[nodiscard]] std::string normalize_source(std::string_view source);

/// REQUIRES: `source` is normalised, valid UTF-8. The last lexeme is kEnd.
[[nodiscard]] Result<std::vector<Lexeme>> tokenize(std::string_view source);

}  // namespace weir::jinja
