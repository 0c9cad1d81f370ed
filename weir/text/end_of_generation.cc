#include "weir/text/end_of_generation.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace weir::text {

void find_end_of_generation(Vocabulary& vocabulary) {
  constexpr std::array<std::string_view, 10> kEnds = {
      "<|im_end|>",    "<|eot_id|>",      "<|eom_id|>", "<end_of_turn>", "<|end|>",
      "<|endoftext|>", "<|end_of_text|>", "<|eot|>",    "<EOT>",         "<|end_of_turn|>"};
  auto& ends = vocabulary.end_of_generation;
  const auto add = [&](TokenId id) {
    if (std::find(ends.begin(), ends.end(), id) == ends.end()) ends.push_back(id);
  };
  if (vocabulary.eos) add(*vocabulary.eos);
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    VocabularyToken& token = vocabulary.tokens[id];
    if (token.kind != TokenKind::kControl && token.kind != TokenKind::kUserDefined) continue;
    if (std::find(kEnds.begin(), kEnds.end(), token.text) == kEnds.end()) continue;
    token.kind = TokenKind::kControl;
    add(static_cast<TokenId>(id));
  }
}

}  // namespace weir::text
