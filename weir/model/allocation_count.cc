#include "weir/model/allocation_count.h"

#include <cstdlib>
#include <new>

namespace {
thread_local std::size_t count = 0;
}

namespace weir::model {
std::size_t allocations_of_this_thread() { return count; }
}  // namespace weir::model

// In a file of their own, so that they are not inlined where the compiler would then see free() called
// on what came from operator new.
void* operator new(std::size_t size) {
  ++count;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
