#include "weir/text/detokenizer.h"

#include "weir/base/utf8.h"

namespace weir::text {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool after_text)
    : tokenizer_(tokenizer), at_start_(!after_text) {}

std::string Detokenizer::push(TokenId token) {
  if (!tokenizer_.is_shown(token)) return {};
  held_ += at_start_ ? tokenizer_.first_bytes(token) : tokenizer_.bytes(token);
  at_start_ = false;
  const std::size_t unfinished = utf8::unfinished_tail(held_);
  std::string text = utf8::sanitize(std::string_view(held_).substr(0, held_.size() - unfinished));
  held_.erase(0, held_.size() - unfinished);
  return text;
}

std::string Detokenizer::finish() {
  std::string text = utf8::sanitize(held_);
  held_.clear();
  return text;
}

}  // namespace weir::text
