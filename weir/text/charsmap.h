#pragma once

/// SentencePiece's precompiled_charsmap: a little-endian uint32 length, that many bytes of a Darts
/// double-array trie (uint32 units), then NUL-terminated replacement texts. A match's value is the
/// offset of its replacement. The longest match at each character wins, as in SentencePiece.
/// Thread safety: immutable.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir::text {

class CharsMap {
 public:
  [[nodiscard]] static Result<CharsMap> parse(std::string_view bytes);

  struct Change {
    std::size_t length = 0;  ///< Of the text that goes, whole characters; 0: none.
    std::string_view by;     ///< Lives as long as the map.
  };
  /// What the map makes of the beginning of a text.
  /// REQUIRES: text is valid UTF-8. So is what comes back.
  [[nodiscard]] Change change(std::string_view text) const;

 private:
  struct Match {
    std::size_t length = 0;  // 0: none.
    std::uint32_t value = 0;
  };
  CharsMap() = default;
  [[nodiscard]] Match longest(std::string_view text) const;

  std::vector<std::uint32_t> units_;
  std::string texts_;
};

}  // namespace weir::text
