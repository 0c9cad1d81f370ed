#include "weir/model/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
thread_local std::size_t count = 0;
std::atomic<std::size_t> total{0};
}  // namespace

namespace weir::model {
std::size_t allocations_of_this_thread() { return count; }
std::size_t allocations_of_all_threads() { return total.load(std::memory_order_relaxed); }
}  // namespace weir::model

// In a file of their own, so that they are not inlined where the compiler would then see free()
// called on what came from operator new.
void* operator new(std::size_t size) {
  ++count;
  total.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
