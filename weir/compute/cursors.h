#pragma once

/// Each worker's own place in a cycle that all walk in step, so that a loop which meets other
/// memory every time needs no counter that workers share. Internal to the folder.
/// Thread safety: next() by each worker of a team for itself.

#include <cstdint>

#include "weir/compute/buffer.h"
#include "weir/compute/thread_pool.h"

namespace weir::compute {

class Cursors {
 public:
  /// REQUIRES: size >= 1.
  Cursors(std::size_t workers, std::uint64_t size) : size_(size), at_(workers * kStride) {}

  /// 0, 1, ... size - 1, 0, ...
  std::uint64_t next(const ThreadPool::Team& team) const {
    std::uint64_t& at = at_[team.index() * kStride];
    const std::uint64_t now = at;
    at = now + 1 == size_ ? 0 : now + 1;
    return now;
  }

 private:
  static constexpr std::size_t kStride = kAlignment / sizeof(std::uint64_t);  ///< A cache line.
  std::uint64_t size_;
  AlignedBuffer<std::uint64_t> at_;
};

}  // namespace weir::compute
