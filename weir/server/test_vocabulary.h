#pragma once

/// For tests: a tokenizer of single bytes, a few longer pieces whose borders cut words and
/// characters, and two control tokens. Thread safety: pure.

#include <memory>
#include <string>
#include <vector>

#include "weir/text/byte_alphabet.h"
#include "weir/text/tokenizer.h"

namespace weir::server {

inline constexpr std::string_view kTurnBegins = "<|turn|>";
inline constexpr std::string_view kTurnEnds = "<|end|>";

inline std::shared_ptr<const text::Tokenizer> test_tokenizer() {
  text::Vocabulary vocabulary;
  vocabulary.kind = text::TokenizerKind::kByteBpe;
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(
        {text::alphabet_from_bytes(std::string(1, static_cast<char>(byte)))});
  }
  // "\xF0\x9F" is half of most emoji: a token that is no character.
  const std::pair<std::string, std::string> merges[] = {
      {"l", "l"}, {"h", "e"},  {"he", "ll"},     {"o", " "}, {"S", "T"},
      {"O", "P"}, {"T", "OP"}, {"\xF0", "\x9F"}, {"a", "b"}, {"ab", "ab"}};
  for (const auto& [left, right] : merges) {
    vocabulary.merges.emplace_back(text::alphabet_from_bytes(left),
                                   text::alphabet_from_bytes(right));
    vocabulary.tokens.push_back({text::alphabet_from_bytes(left + right)});
  }
  for (const auto control : {kTurnBegins, kTurnEnds}) {
    vocabulary.tokens.push_back({std::string(control), 0.0, text::TokenKind::kControl});
  }
  const auto end = static_cast<TokenId>(vocabulary.tokens.size() - 1);
  vocabulary.eos = end;
  vocabulary.end_of_generation = {end};
  auto tokenizer = text::Tokenizer::create(std::move(vocabulary));
  return tokenizer ? std::shared_ptr<const text::Tokenizer>(std::move(*tokenizer)) : nullptr;
}

}  // namespace weir::server
