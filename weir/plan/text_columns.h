#pragma once

/// Rows of cells as aligned plain text. Thread safety: pure functions.

#include <string>
#include <vector>

namespace weir::plan {

/// Columns two spaces apart, as wide as their widest cell in characters; `right[i]` says whether
/// column i is flush right. Every line ends without spaces. REQUIRES: no row is longer than
/// `right`.
[[nodiscard]] std::string columns_text(const std::vector<std::vector<std::string>>& rows,
                                       const std::vector<bool>& right);

/// `text` broken at spaces into lines of at most `width` bytes, each after `indent`.
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t width,
                                  const std::string& indent);

}  // namespace weir::plan
