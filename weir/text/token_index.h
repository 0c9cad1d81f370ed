#pragma once

/// Token text to id: an open-addressed index over texts that someone else owns. Of equal texts the
/// lowest id is found.
/// Thread safety: immutable after build.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/ids.h"

namespace weir::text {

class TokenIndex {
 public:
  TokenIndex() = default;

  /// `texts[id]`; ids for which `use` is false are left out. The views must outlive the index.
  TokenIndex(std::vector<std::string_view> texts, const std::function<bool(TokenId)>& use);

  [[nodiscard]] std::optional<TokenId> find(std::string_view text) const;

 private:
  static constexpr TokenId kEmpty = -1;
  std::vector<std::string_view> texts_;
  std::vector<TokenId> slots_;  ///< A size that is a power of two, at most half full.
};

}  // namespace weir::text
