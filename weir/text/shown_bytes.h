#pragma once

/// What each token adds to decoded text, computed once: in the middle of a text and as its first
/// token. Thread safety: immutable.

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/ids.h"
#include "weir/text/vocabulary.h"

namespace weir::text {

class ShownBytes {
 public:
  explicit ShownBytes(const Vocabulary& vocabulary);

  [[nodiscard]] std::string_view middle(TokenId token) const { return view(2 * index(token)); }
  [[nodiscard]] std::string_view first(TokenId token) const { return view(2 * index(token) + 1); }

 private:
  [[nodiscard]] static std::size_t index(TokenId token) { return static_cast<std::size_t>(token); }
  [[nodiscard]] std::string_view view(std::size_t slot) const {
    return std::string_view(text_).substr(places_[slot].begin, places_[slot].size);
  }
  void add(std::string_view bytes);

  struct Place {
    std::uint32_t begin, size;
  };
  std::string text_;
  std::vector<Place> places_;  ///< Two a token.
};

}  // namespace weir::text
