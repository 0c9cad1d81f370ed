#include "weir/compute/kv_arena.h"

#include <algorithm>
#include <cstring>

#include "weir/base/check.h"
#include "weir/base/math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/kv_arena.cc"
#include <hwy/foreach_target.h>

#include "weir/compute/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {

/// One head's k into column `slot` of K, its v into row `slot` of V.
void WriteHalves(const float* k, const float* v, std::uint32_t head_dim, std::uint32_t slot,
                 std::uint16_t* keys, std::uint16_t* values) {
  alignas(64) float lanes[kLanes] = {};
  alignas(64) std::uint16_t halves[kLanes];
  for (std::uint32_t d = 0; d < head_dim; d += kLanes) {
    const std::uint32_t n = std::min<std::uint32_t>(kLanes, head_dim - d);
    std::memcpy(lanes, k + d, n * sizeof(float));
    store_f16(load(lanes), halves);
    for (std::uint32_t i = 0; i < n; ++i) keys[(d + i) * kPageTokens + slot] = halves[i];
    std::memcpy(lanes, v + d, n * sizeof(float));
    store_f16(load(lanes), halves);
    std::memcpy(values + d, halves, n * sizeof(std::uint16_t));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compute {
namespace {
HWY_EXPORT(WriteHalves);

std::uint64_t element_bytes(const KvShape& shape) { return shape.type == DType::kF32 ? 4 : 2; }
std::uint64_t record_bytes(const KvShape& shape) {
  return (std::uint64_t{shape.head_dim} + KvArena::value_stride(shape)) * kPageTokens *
         element_bytes(shape);
}

}  // namespace

std::uint64_t KvArena::value_stride(const KvShape& shape) {
  return round_up<std::uint64_t>(shape.head_dim, 16);
}

std::uint64_t KvArena::bytes_per_page(const KvShape& shape) {
  return record_bytes(shape) * shape.kv_heads * shape.layers;
}

KvArena::KvArena(const KvShape& shape, std::uint32_t pages)
    : shape_(shape),
      pages_(pages),
      record_bytes_(record_bytes(shape)),
      storage_(bytes_per_page(shape) * pages) {
  WEIR_CHECK(shape.type == DType::kF32 || shape.type == DType::kF16, "KV is F32 or F16");
}

std::byte* KvArena::record(std::uint32_t layer, PageId page, std::uint32_t head) const {
  const std::uint64_t at = (std::uint64_t{layer} * pages_ + index(page)) * shape_.kv_heads + head;
  return storage_.data() + at * record_bytes_;
}

void KvArena::write(std::uint32_t layer, PageId page, std::uint32_t slot, const float* k,
                    const float* v) const {
  WEIR_CHECK(layer < shape_.layers && index(page) < pages_ && slot < kPageTokens,
             "a place in the arena");
  const std::uint32_t dim = shape_.head_dim;
  const std::uint64_t stride = value_stride(shape_);
  for (std::uint32_t head = 0; head < shape_.kv_heads; ++head, k += dim, v += dim) {
    std::byte* at = record(layer, page, head);
    if (shape_.type == DType::kF16) {
      auto* keys = reinterpret_cast<std::uint16_t*>(at);
      HWY_DYNAMIC_DISPATCH(WriteHalves)
      (k, v, dim, slot, keys, keys + std::uint64_t{dim} * kPageTokens + slot * stride);
    } else {
      auto* keys = reinterpret_cast<float*>(at);
      for (std::uint32_t d = 0; d < dim; ++d) keys[d * kPageTokens + slot] = k[d];
      std::memcpy(keys + std::uint64_t{dim} * kPageTokens + slot * stride, v, dim * sizeof(float));
    }
  }
}

void KvArena::copy(PageId from, PageId to) const {
  WEIR_CHECK(index(from) < pages_ && index(to) < pages_, "pages of the arena");
  // The heads of a page are adjacent.
  for (std::uint32_t layer = 0; layer < shape_.layers; ++layer)
    std::memcpy(record(layer, to, 0), record(layer, from, 0), record_bytes_ * shape_.kv_heads);
}

}  // namespace weir::compute
#endif
