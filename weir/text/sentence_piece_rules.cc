#include "weir/text/sentence_piece_rules.h"

#include <utility>
#include <vector>

#include "weir/base/utf8.h"

namespace weir::text {

Result<SentencePieceRules> SentencePieceRules::create(const NormalizerStep& step) {
  SentencePieceRules rules;
  if (!step.pattern.empty()) {
    WEIR_TRY(rules.map_, CharsMap::parse(step.pattern));
  }
  std::vector<std::pair<std::string_view, std::int32_t>> kept;
  for (const std::string& text : step.kept) {
    // Text holds whole characters only: what is no UTF-8 could be found but in the midst of one.
    if (utf8::find_invalid(text) == std::string::npos) kept.emplace_back(text, 0);
  }
  rules.kept_ = ByteTrie(std::move(kept));
  rules.prefix_ = step.content;
  rules.collapse_spaces_ = step.collapse_spaces;
  return rules;
}

std::string SentencePieceRules::apply(std::string_view text, bool prepend) const {
  std::string out;
  out.reserve(text.size());
  bool after_space = collapse_spaces_;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t length = kept_.longest(rest).length;
    std::string_view by = rest.substr(0, length);
    if (length == 0 && map_) {
      const CharsMap::Change change = map_->change(rest);
      length = change.length;
      by = change.by;
    }
    if (length == 0) {
      length = utf8::decode(rest, 0).size;
      by = rest.substr(0, length);
    }
    at += length;
    while (after_space && by.starts_with(' ')) by.remove_prefix(1);
    if (by.empty()) continue;
    out += by;
    after_space = collapse_spaces_ && by.ends_with(' ');
  }
  constexpr std::string_view kMetaSpace = "\xE2\x96\x81";  // Written so, it is a space to them too.
  while (collapse_spaces_ && (out.ends_with(' ') || out.ends_with(kMetaSpace))) {
    out.resize(out.size() - (out.ends_with(' ') ? 1 : kMetaSpace.size()));
  }
  if (prepend && !(collapse_spaces_ && out.empty())) out.insert(0, prefix_);
  return out;
}

}  // namespace weir::text
