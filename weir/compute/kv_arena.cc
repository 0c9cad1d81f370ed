#include "weir/compute/kv_arena.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "weir/base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/kv_arena.cc"
#include <hwy/foreach_target.h>

#include "weir/compute/round-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {

/// Rounds one head's k and v and scatters them into the record. Elements of a group of dimensions
/// that lie beyond head_dim become zero, so that a product with them is.
template <class T, class Round>
void scatter(const KvLayout& layout, const float* k, const float* v, std::uint32_t head_dim,
             std::uint32_t slot, std::byte* record, const Round& round) {
  alignas(64) T narrow[kLanes];
  const auto store_at = [](std::byte* at, T x) { std::memcpy(at, &x, sizeof x); };
  for (std::uint32_t d = 0; d < head_dim; d += kLanes) {
    round(load_some(k + d, head_dim - d), 0, narrow);
    const auto n = std::min<std::uint32_t>(kLanes, head_dim - d);
    // A group of dimensions is one word of the record.
    for (std::uint32_t i = 0; i < round_up(n, layout.together); i += layout.together) {
      std::memcpy(record + layout.keys_at + layout.key(d + i, slot), narrow + i,
                  layout.together * sizeof(T));
    }
    round(load_some(v + d, head_dim - d), 1, narrow);
    std::byte* at = record + layout.values_at + layout.value(d, slot);
    for (std::uint32_t i = 0; i < n; ++i) store_at(at + i * layout.together * sizeof(T), narrow[i]);
  }
}

/// The scale of a position's bytes, bf16 rounded up so that no code exceeds 127 either way; 0 for
/// what is too small to matter, NaN where an element is not finite.
float byte_scale(const float* x, std::uint32_t head_dim) {
  const float largest = largest_magnitude(x, head_dim);
  if (std::isinf(largest)) return std::numeric_limits<float>::quiet_NaN();
  if (!(largest >= 0x1p-100F)) return 0.0F;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(largest / 127.0F) + 0xFFFF) &
                              0xFFFF0000);
}

void WriteHead(DType type, const KvLayout& layout, const float* k, const float* v,
               std::uint32_t head_dim, std::uint32_t slot, std::byte* record) {
  if (type == DType::kF32) {
    scatter<float>(layout, k, v, head_dim, slot, record,
                   [](const F32x16& x, int, float* out) { store(x, out); });
  } else if (type == DType::kF16) {
    scatter<std::uint16_t>(layout, k, v, head_dim, slot, record,
                           [](const F32x16& x, int, std::uint16_t* out) { store_f16(x, out); });
  } else if (type == DType::kBF16) {
    scatter<std::uint16_t>(layout, k, v, head_dim, slot, record,
                           [](const F32x16& x, int, std::uint16_t* out) {
                             store_upper_halves(bits_of(round_to_bf16(x)), out);
                           });
  } else {
    float inverse[2];
    for (int i = 0; i < 2; ++i) {
      const float scale = byte_scale(i == 0 ? k : v, head_dim);
      inverse[i] = scale > 0.0F ? 1.0F / scale : 0.0F;
      const auto bits = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(scale) >> 16);
      std::memcpy(record + (static_cast<std::uint32_t>(i) * kPageTokens + slot) * sizeof bits,
                  &bits, sizeof bits);
    }
    scatter<std::uint8_t>(
        layout, k, v, head_dim, slot, record, [&](const F32x16& x, int which, std::uint8_t* out) {
          store_low_bytes(add(round_to_int(mul(x, set(inverse[which]))), set(128)), out);
        });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compute {
HWY_EXPORT(WriteHead);

namespace {

std::vector<LayerPlace> in_one_unit(std::uint32_t layers) {
  std::vector<LayerPlace> places;
  for (std::uint32_t i = 0; i < layers; ++i) places.push_back({0, i});
  return places;
}

}  // namespace

std::uint64_t KvArena::bytes_per_page(const KvShape& shape) {
  return KvLayout(shape).record_bytes * shape.kv_heads * shape.layers;
}

std::uint64_t KvArena::bytes_per_unit(const KvShape& shape, const KvUnits& units) {
  return KvLayout(shape).record_bytes * shape.kv_heads * units.layers;
}

KvArena::KvArena(const KvShape& shape, std::uint32_t pages)
    : KvArena(shape, {.layers = shape.layers, .whole = 1, .windowed = 0, .window = 0},
              in_one_unit(shape.layers), pages) {}

KvArena::KvArena(const KvShape& shape, const KvUnits& units, std::vector<LayerPlace> places,
                 std::uint32_t count)
    : shape_(shape),
      layout_(shape),
      places_(std::move(places)),
      of_page_(units.of_page()),
      count_(count),
      storage_(bytes_per_unit(shape, units) * count) {
  WEIR_CHECK(is_kv_type(shape.type), "KV is F32, F16, BF16 or I8");
  WEIR_CHECK(places_.size() == shape.layers, "every layer has its place");
  for (const LayerPlace& place : places_)
    WEIR_CHECK(place.unit < of_page_ && place.layer < units.layers, "a place within a page");
}

void KvArena::write(std::uint32_t layer, PageId page, std::uint32_t slot, const float* k,
                    const float* v) const {
  const std::uint32_t dim = shape_.head_dim;
  for (std::uint32_t head = 0; head < shape_.kv_heads; ++head, k += dim, v += dim)
    write_head(layer, page, slot, head, k, v);
}

void KvArena::write_head(std::uint32_t layer, PageId page, std::uint32_t slot, std::uint32_t head,
                         const float* k, const float* v) const {
  WEIR_CHECK(layer < shape_.layers && slot < kPageTokens && head < shape_.kv_heads,
             "a place in the arena");
  HWY_DYNAMIC_DISPATCH(WriteHead)
  (shape_.type, layout_, k, v, shape_.head_dim, slot, record(layer, page, head));
}

void KvArena::copy(PageId from, PageId to) const {
  // The heads of a page are adjacent.
  for (std::uint32_t layer = 0; layer < shape_.layers; ++layer)
    std::memcpy(record(layer, to, 0), record(layer, from, 0),
                layout_.record_bytes * shape_.kv_heads);
}

}  // namespace weir::compute
#endif
