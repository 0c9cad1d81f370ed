#pragma once

/// For tests that say "allocates nothing": how often this thread, or any, has called operator new.
/// Replaces the global operator new and delete of the test binary that links allocation_count.cc.
/// Thread safety: any thread.

#include <cstddef>

namespace weir::model {

[[nodiscard]] std::size_t allocations_of_this_thread();
[[nodiscard]] std::size_t allocations_of_all_threads();

}  // namespace weir::model
