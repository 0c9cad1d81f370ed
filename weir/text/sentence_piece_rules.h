#pragma once

/// SentencePiece's own normalisation, before spaces are written as U+2581: at each place the
/// longest text to keep, else what the precompiled map says, else the character; and with
/// remove_extra_whitespaces no space that follows one or stands at an end. What is kept is kept
/// from the map only: its leading spaces go like others, those inside it stay. Then the dummy
/// prefix, also to a text the map emptied; not to one of spaces that were removed.
/// Thread safety: immutable.

#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/text/byte_trie.h"
#include "weir/text/charsmap.h"
#include "weir/text/vocabulary.h"

namespace weir::text {

class SentencePieceRules {
 public:
  /// REQUIRES: step.kind is kSentencePiece.
  [[nodiscard]] static Result<SentencePieceRules> create(const NormalizerStep& step);

  /// REQUIRES: text is valid UTF-8. So is the result.
  [[nodiscard]] std::string apply(std::string_view text, bool prepend) const;

 private:
  SentencePieceRules() = default;
  std::optional<CharsMap> map_;
  ByteTrie kept_;
  std::string prefix_;
  bool collapse_spaces_ = false;
};

}  // namespace weir::text
