#pragma once

/// For tests that say "allocates nothing": how often this thread has called operator new. Replaces the
/// global operator new and delete of the test binary that links allocation_count.cc.
/// Thread safety: counts are per thread.

#include <cstddef>

namespace weir::model {

[[nodiscard]] std::size_t allocations_of_this_thread();

}  // namespace weir::model
