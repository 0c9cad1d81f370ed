#include "weir/text/token_index.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>

namespace weir::text {

TokenIndex::TokenIndex(std::vector<std::string_view> texts, const std::function<bool(TokenId)>& use)
    : texts_(std::move(texts)),
      slots_(std::bit_ceil(std::max<std::size_t>(2 * texts_.size(), 2)), kEmpty) {
  for (std::size_t id = 0; id < texts_.size(); ++id) {
    if (!use(static_cast<TokenId>(id))) continue;
    std::size_t i = XXH3_64bits(texts_[id].data(), texts_[id].size()) & (slots_.size() - 1);
    while (slots_[i] != kEmpty && texts_[static_cast<std::size_t>(slots_[i])] != texts_[id]) {
      i = (i + 1) & (slots_.size() - 1);
    }
    if (slots_[i] == kEmpty) slots_[i] = static_cast<TokenId>(id);
  }
}

std::optional<TokenId> TokenIndex::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  std::size_t i = XXH3_64bits(text.data(), text.size()) & (slots_.size() - 1);
  while (slots_[i] != kEmpty) {
    if (texts_[static_cast<std::size_t>(slots_[i])] == text) return slots_[i];
    i = (i + 1) & (slots_.size() - 1);
  }
  return std::nullopt;
}

}  // namespace weir::text
