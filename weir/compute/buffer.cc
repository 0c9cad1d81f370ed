#include "weir/compute/buffer.h"

#include <sys/mman.h>

#include <cstring>

#include "weir/base/check.h"

namespace weir::compute {

void* allocate_aligned(std::size_t bytes) {
  WEIR_CHECK(bytes <= SIZE_MAX / 2, "a buffer's size was not checked before it was asked for");
  const bool large = bytes >= 2 * kHugePage;
  const std::size_t alignment = large ? kHugePage : kAlignment;
  const std::size_t padded = (bytes + kAlignment + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, padded);
  WEIR_CHECK(p != nullptr, "out of memory: lower --memory, the context, or use a smaller model");
  // Huge pages spare the page walks of a linear stream; a kernel without them ignores the advice.
  if (large) madvise(p, padded, MADV_HUGEPAGE);
  std::memset(p, 0, padded);  // Touches every page, so that no step meets a page fault.
  return p;
}

void free_aligned(void* p) { std::free(p); }

}  // namespace weir::compute
