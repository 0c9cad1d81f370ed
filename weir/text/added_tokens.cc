#include "weir/text/added_tokens.h"

#include <algorithm>

#include "weir/base/utf8.h"
#include "weir/text/characters.h"

namespace weir::text {

/// The runs of a Trust as a question: what is known about [begin, end)?
class AddedTokens::Borders {
 public:
  explicit Borders(const Trust& trust) : trust_(trust) {}

  struct Answer {
    bool one_run;
    bool trusted;  ///< Of the first byte's run.
    std::size_t run_end;
  };
  [[nodiscard]] Answer ask(std::size_t begin, std::size_t end) const {
    const auto run =
        std::upper_bound(trust_.runs.begin(), trust_.runs.end(), begin,
                         [](std::size_t at, const Trust::Run& r) { return at < r.end; });
    if (run == trust_.runs.end()) return {true, false, end};
    return {end <= run->end, run->trusted, run->end};
  }

 private:
  const Trust& trust_;
};

AddedTokens::AddedTokens(const Vocabulary& vocabulary, std::vector<std::string> texts,
                         std::vector<TokenId> ids)
    : texts_(std::move(texts)) {
  std::vector<std::pair<std::string_view, std::int32_t>> entries;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const VocabularyToken& token = vocabulary.tokens[static_cast<std::size_t>(ids[i])];
    attributes_.push_back({ids[i], token.kind == TokenKind::kControl, token.single_word,
                           token.strip_left, token.strip_right});
    entries.emplace_back(texts_[i], static_cast<std::int32_t>(i));
  }
  trie_ = ByteTrie(std::move(entries));
}

AddedTokens::Found AddedTokens::at(std::string_view text, std::size_t position,
                                   const Borders& borders) const {
  Found best;
  trie_.prefixes(text.substr(position), [&](std::size_t length, std::int32_t value) {
    const Attributes& token = attributes_[static_cast<std::size_t>(value)];
    if (!token.control) {
      best = {length, &token, true};
      return;
    }
    const auto where = borders.ask(position, position + length);
    if (where.one_run) best = {length, &token, where.trusted};
  });
  if (best.token == nullptr || best.token->control) return best;
  // A user-defined token that reaches from untrusted into trusted text must not eat a control token
  // there.
  const auto where = borders.ask(position, position + best.length);
  if (where.one_run || where.trusted) return best;
  for (std::size_t i = where.run_end; i < position + best.length; ++i) {
    bool eats = false;
    trie_.prefixes(text.substr(i), [&](std::size_t length, std::int32_t value) {
      const auto inner = borders.ask(i, i + length);
      eats = eats || (attributes_[static_cast<std::size_t>(value)].control && inner.one_run &&
                      inner.trusted);
    });
    if (eats) return {};
  }
  return best;
}

std::vector<AddedTokens::Part> AddedTokens::cut(std::string_view text, const Trust& trust) const {
  std::vector<Part> parts;
  const Borders borders(trust);
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (!trie_.may_begin(text[i])) {
      ++i;
      continue;
    }
    const Found found = at(text, i, borders);
    if (found.token == nullptr) {
      ++i;
      continue;
    }
    std::size_t begin = i;
    std::size_t end = i + found.length;
    i = end;  // What was found is passed over as a whole, also when it does not count.
    if (!found.counts) continue;
    if (found.token->single_word) {
      const std::uint32_t before = character_before(text, begin);
      const std::uint32_t after = character_at(text, end);
      if (is_word_character(before) || is_word_character(after)) continue;
    }
    begin = std::max(begin, done);
    if (found.token->strip_left) {
      while (begin > done && is_white_space(character_before(text, begin))) {
        do --begin;
        while (begin > done && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80);
      }
    }
    if (found.token->strip_right) {
      while (end < text.size() && is_white_space(character_at(text, end)))
        end += utf8::decode(text, end).size;
    }
    if (end <= begin) continue;
    if (begin > done) parts.push_back({done, begin, kText});
    parts.push_back({begin, end, found.token->id});
    done = end;
  }
  if (done < text.size()) parts.push_back({done, text.size(), kText});
  return parts;
}

}  // namespace weir::text
