#include "weir/compute/buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "weir/base/check.h"
#include "weir/base/math.h"

namespace weir::compute {
namespace {

constexpr const char* kNoMemory =
    "out of memory: lower --memory, the context, or use a smaller model";

/// Large ones are mapped: the kernel hands out zeroed pages as they are first touched, so that a KV
/// pool of gigabytes costs neither time nor memory before it is used.
std::size_t mapped_bytes(std::size_t bytes) { return round_up(bytes + kAlignment, kHugePage); }
bool is_mapped(std::size_t bytes) { return bytes >= kHugePage; }

/// Aligned to a huge page: one more is taken, and what sticks out at the ends is given back.
void* map_aligned(std::size_t bytes) {
  const std::size_t taken = bytes + kHugePage;
  void* const raw = ::mmap(nullptr, taken, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  WEIR_CHECK(raw != MAP_FAILED, kNoMemory);
  auto* const begin = static_cast<std::byte*>(raw);
  const auto address = reinterpret_cast<std::uintptr_t>(raw);
  const std::size_t before = round_up<std::uintptr_t>(address, kHugePage) - address;
  std::byte* const p = begin + before;
  if (before > 0) ::munmap(begin, before);
  if (before < kHugePage) ::munmap(p + bytes, kHugePage - before);
  ::madvise(p, bytes, MADV_HUGEPAGE);  // A kernel without them serves small pages.
  return p;
}

}  // namespace

void* allocate_aligned(std::size_t bytes) {
  WEIR_CHECK(bytes <= SIZE_MAX / 2, "a buffer's size was not checked before it was asked for");
  if (is_mapped(bytes)) return map_aligned(mapped_bytes(bytes));
  const std::size_t padded = round_up(bytes + kAlignment, kAlignment);
  void* const p = std::aligned_alloc(kAlignment, padded);
  WEIR_CHECK(p != nullptr, kNoMemory);
  std::memset(p, 0, padded);
  return p;
}

void free_aligned(void* p, std::size_t bytes) {
  if (is_mapped(bytes)) {
    ::munmap(p, mapped_bytes(bytes));
  } else {
    std::free(p);
  }
}

}  // namespace weir::compute
