#include "weir/text/shown_bytes.h"

#include <utility>

#include "weir/text/byte_alphabet.h"
#include "weir/text/piece_model.h"

namespace weir::text {
namespace {

constexpr std::string_view kMetaSpace = "\xE2\x96\x81";  // U+2581

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

/// The reference's rules to undo BERT's spacing, in its order; they look at one token at a time.
std::string clean_up(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [what, by] : kRules) replace_all(text, what, by);
  return text;
}

std::string middle_of(const VocabularyToken& token, const Vocabulary& v) {
  if (token.kind == TokenKind::kControl || token.kind == TokenKind::kUnknown) return {};
  if (token.kind == TokenKind::kByte) {
    const int byte = byte_of_token(token.text);
    return byte < 0 ? token.text : std::string(1, static_cast<char>(byte));
  }
  if (v.kind == TokenizerKind::kByteBpe) {
    if (token.kind == TokenKind::kUserDefined) return token.text;
    return bytes_from_alphabet(token.text).value_or(token.text);
  }
  std::string text = token.text;
  if (v.kind == TokenizerKind::kWordPiece) {
    text = text.starts_with(v.continuation) ? text.substr(v.continuation.size()) : " " + text;
    return v.clean_up ? clean_up(std::move(text)) : text;
  }
  if (v.meta_space) replace_all(text, kMetaSpace, " ");
  return text;
}

std::string first_of(const VocabularyToken& token, const Vocabulary& v, const std::string& middle) {
  if (v.kind == TokenizerKind::kWordPiece && token.kind != TokenKind::kControl &&
      token.kind != TokenKind::kUnknown) {
    return v.clean_up ? clean_up(token.text) : token.text;
  }
  if (v.strip_prefix && token.kind != TokenKind::kByte && middle.starts_with(' '))
    return middle.substr(1);
  return middle;
}

}  // namespace

ShownBytes::ShownBytes(const Vocabulary& vocabulary) {
  places_.reserve(2 * vocabulary.tokens.size());
  for (const VocabularyToken& token : vocabulary.tokens) {
    const std::string middle = middle_of(token, vocabulary);
    const std::string first = first_of(token, vocabulary, middle);
    add(middle);
    if (first == middle) {
      places_.push_back(places_.back());
    } else {
      add(first);
    }
  }
}

void ShownBytes::add(std::string_view bytes) {
  places_.push_back(
      {static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(bytes.size())});
  text_ += bytes;
}

}  // namespace weir::text
