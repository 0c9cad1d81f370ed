#pragma once

/// Finds the tokens that stand for themselves in a text (control and user-defined ones): leftmost,
/// of these the longest, as tokenizer.json's AddedVocabulary does.
///
/// Trust: a control token counts only where every byte of it is trusted; one inside untrusted text
/// is passed over as plain text, one across a border is not seen at all. A user-defined token
/// counts anywhere, but never takes the first bytes of a control token that counts.
/// Thread safety: immutable.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/ids.h"
#include "weir/text/byte_trie.h"
#include "weir/text/vocabulary.h"

namespace weir::text {

/// Ends of alternating runs of a text: what lies where is trusted. An empty list: all untrusted.
struct Trust {
  struct Run {
    std::size_t end;
    bool trusted;
  };
  std::vector<Run> runs;  ///< Ascending ends; neighbours differ.
};

class AddedTokens {
 public:
  static constexpr std::size_t kMaxBytes =
      1024;  ///< Of one such token: it bounds the cost of a byte of text.

  AddedTokens() = default;

  /// `texts[i]` is looked for and means `ids[i]`; the attributes are vocabulary.tokens[ids[i]]'s.
  AddedTokens(const Vocabulary& vocabulary, std::vector<std::string> texts,
              std::vector<TokenId> ids);

  struct Part {
    std::size_t begin;
    std::size_t end;
    TokenId id;  ///< kText for what lies between.
  };
  static constexpr TokenId kText = -1;

  /// The whole text in parts, in order; none is empty.
  [[nodiscard]] std::vector<Part> cut(std::string_view text, const Trust& trust) const;

  [[nodiscard]] bool empty() const { return trie_.empty(); }

 private:
  struct Attributes {
    TokenId id;
    bool control, single_word, strip_left, strip_right;
  };
  struct Found {
    std::size_t length = 0;
    const Attributes* token = nullptr;
    bool counts = false;
  };
  class Borders;
  [[nodiscard]] Found at(std::string_view text, std::size_t position, const Borders& borders) const;

  std::vector<std::string> texts_;
  std::vector<Attributes> attributes_;
  ByteTrie trie_;
};

}  // namespace weir::text
