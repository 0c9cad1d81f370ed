#pragma once

/// Runs NormalizerSteps. Canonical forms cost O(n log n) whatever the marks: runs of combining
/// marks are sorted, not bubbled.
/// Thread safety: immutable; apply() may be called from any thread.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/text/pattern.h"
#include "weir/text/sentence_piece_rules.h"
#include "weir/text/vocabulary.h"

namespace weir::text {

class Normalizer {
 public:
  static constexpr std::size_t kMaxSteps = 32;
  static constexpr std::size_t kMaxContentBytes =
      64;  ///< Of a replacement: it bounds how much text grows.

  [[nodiscard]] static Result<Normalizer> create(const std::vector<NormalizerStep>& steps);

  /// `prepend`: whether prefixes are put before (kPrepend: to an empty text too, not to one that
  /// steps emptied).
  /// REQUIRES: text is valid UTF-8. So is the result.
  [[nodiscard]] std::string apply(std::string_view text, bool prepend = true) const;

  [[nodiscard]] bool empty() const { return steps_.empty(); }

 private:
  struct Step {
    NormalizerStep step;
    std::optional<Pattern> pattern;
    std::optional<SentencePieceRules> rules;
  };
  Normalizer() = default;
  std::vector<Step> steps_;
};

}  // namespace weir::text
