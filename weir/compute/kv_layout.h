#pragma once

/// Where the keys and values of one (layer, page, KV head), a record, lie in the arena.
///
/// A kernel takes 16 lanes at a time: 16 positions while it scores, 16 dimensions while it sums
/// values. Along the other axis, which it reduces, the elements of a lane lie side by side in
/// groups that make a machine word where the type is narrow, as dot products of pairs of bf16 and
/// of four bytes want them. With g = together(type) a record is
///
///     scales  [2][16]               bf16, of the keys, then of the values (I8 only)
///     K       [ceil(head_dim / g)][16 positions][g dimensions]
///     V       [16 / g][value_stride dimensions][g positions]
///
/// I8 is x = scale (code - 128), code an unsigned byte, with one scale for the keys and one for the
/// values of a position. Thread safety: pure functions.

#include <cstdint>

#include "weir/base/ids.h"
#include "weir/base/math.h"
#include "weir/spec/kv_type.h"

namespace weir::compute {

struct KvShape {
  std::uint32_t layers = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  DType type = kDefaultKvType;  ///< is_kv_type().
};

struct KvLayout {
  std::uint32_t together = 1;  ///< Elements of a lane that lie side by side.
  std::uint64_t element_bytes = 4;
  std::uint64_t value_stride = 0;  ///< Lanes of a row of V: head_dim in whole vectors.
  std::uint64_t key_steps = 0;     ///< Rows of K.
  std::uint64_t key_step_bytes = 0;
  std::uint64_t value_step_bytes = 0;
  std::uint64_t keys_at = 0;  ///< Bytes into the record, a multiple of 64.
  std::uint64_t values_at = 0;
  std::uint64_t record_bytes = 0;

  explicit constexpr KvLayout(const KvShape& shape)
      : together(shape.type == DType::kI8     ? 4
                 : shape.type == DType::kBF16 ? 2
                                              : 1),
        element_bytes(shape.type == DType::kI8    ? 1
                      : shape.type == DType::kF32 ? 4
                                                  : 2),
        value_stride(round_up<std::uint64_t>(shape.head_dim, 16)),
        key_steps(ceil_div(shape.head_dim, together)),
        key_step_bytes(kPageTokens * together * element_bytes),
        value_step_bytes(value_stride * together * element_bytes),
        keys_at(shape.type == DType::kI8 ? 2 * kPageTokens * sizeof(std::uint16_t) : 0),
        values_at(keys_at + key_steps * key_step_bytes),
        record_bytes(values_at + kPageTokens / together * value_step_bytes) {}

  /// Bytes from K to dimension d of the position in `slot`, and from V.
  [[nodiscard]] constexpr std::uint64_t key(std::uint64_t d, std::uint32_t slot) const {
    return d / together * key_step_bytes + (slot * together + d % together) * element_bytes;
  }
  [[nodiscard]] constexpr std::uint64_t value(std::uint64_t d, std::uint32_t slot) const {
    return slot / together * value_step_bytes + (d * together + slot % together) * element_bytes;
  }
};

}  // namespace weir::compute
