#pragma once

/// Finds the first of several stop strings in a stream of text, across any cuts, holding back only
/// the suffix that may yet become one (Aho-Corasick; O(1) amortised a byte).
///
/// The law: the stop string that is completed first in stream order wins; of several completed by
/// the same byte, the longest (of equals, the first given). Joined, all text that comes out is the
/// stream up to where that stop string begins, however the stream was cut.
/// Thread safety: none; one object per stream.

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir::text {

class StopMatcher {
 public:
  static constexpr std::size_t kMaxStops = 16;
  static constexpr std::size_t kMaxBytes = 1024;  ///< Of one stop string.

  /// Refuses empty strings, too many, or too long.
  [[nodiscard]] static Result<StopMatcher> create(const std::vector<std::string>& stops);

  struct Step {
    std::string text;  ///< Safe to show now; never contains any part of a stop string that matched.
    bool stopped = false;  ///< A stop string was completed; everything after it is dropped.
    int which = -1;        ///< Index of the stop string.
  };

  /// After a Step with stopped, later calls return nothing.
  [[nodiscard]] Step push(std::string_view text);

  /// The held suffix, when the stream ends for another reason.
  [[nodiscard]] std::string finish();

 private:
  struct Node;
  StopMatcher();
  std::vector<Node> nodes_;
  std::vector<std::size_t> lengths_;
  std::string held_;
  std::size_t state_ = 0;
  bool stopped_ = false;

 public:
  StopMatcher(StopMatcher&&) noexcept;
  StopMatcher& operator=(StopMatcher&&) noexcept;
  ~StopMatcher();
};

}  // namespace weir::text
