#pragma once

/// A stable sort whose comparison may fail or contradict itself (NaN, mixed types): it ends with
/// the error, or with some order, and never steps outside its range as std::sort may. Thread
/// safety: pure function.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "weir/base/result.h"

namespace weir::jinja {

/// `less(a, b)` is a Result<bool>.
template <class T, class Less>
[[nodiscard]] Status merge_sort(std::vector<T>& items, Less less) {
  const std::size_t size = items.size();
  std::vector<T> merged(items);
  for (std::size_t width = 1; width < size; width *= 2) {
    for (std::size_t begin = 0; begin < size; begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, size);
      const std::size_t end = std::min(begin + 2 * width, size);
      std::size_t left = begin;
      std::size_t right = middle;
      for (std::size_t out = begin; out < end; ++out) {
        bool take_right = left == middle;
        if (!take_right && right < end) {
          WEIR_TRY(take_right, less(items[right], items[left]));
        }
        merged[out] = take_right ? items[right++] : items[left++];
      }
    }
    std::swap(items, merged);
  }
  return {};
}

}  // namespace weir::jinja
