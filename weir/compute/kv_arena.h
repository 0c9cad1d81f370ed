#pragma once

/// The bytes of the KV cache: for every layer, page and KV head, the keys and values of kPageTokens
/// positions. A PageId names the same page in every layer. Which pages belong to whom is kv/'s
/// business; the arena knows no sequence.
///
/// Layout: layers outermost, then pages, then KV heads; the K and V of one (page, head) are
/// adjacent, so attention reads one contiguous record. Keys are stored transposed, K [head_dim,
/// kPageTokens], so that one vector holds one dimension of 16 positions and scores need no
/// horizontal sum; V is [kPageTokens, head_dim]. Thread safety: distinct (layer, page, head)
/// records may be written by different workers.

#include <cstdint>

#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/compute/buffer.h"
#include "weir/spec/dtype.h"

namespace weir::compute {

struct KvShape {
  std::uint32_t layers = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  DType type = DType::kF16;  ///< kF32 or kF16.
};

class KvArena {
 public:
  [[nodiscard]] static std::uint64_t bytes_per_page(
      const KvShape& shape);  ///< Over all layers, K and V.

  /// Elements between the rows of V.
  [[nodiscard]] static std::uint64_t value_stride(const KvShape& shape);

  KvArena(const KvShape& shape, std::uint32_t pages);

  [[nodiscard]] const KvShape& shape() const { return shape_; }
  [[nodiscard]] std::uint32_t pages() const { return pages_; }
  [[nodiscard]] std::uint64_t bytes() const { return storage_.bytes(); }

  /// The record of (layer, page, head): K [head_dim, 16] then V [16, value_stride], in
  /// shape().type.
  [[nodiscard]] std::byte* record(std::uint32_t layer, PageId page, std::uint32_t head) const;

  /// Stores one position's keys and values of every KV head.
  /// k, v: [kv_heads, head_dim] floats, rounded to the arena's type.
  void write(std::uint32_t layer, PageId page, std::uint32_t slot, const float* k,
             const float* v) const;

  /// Carries a whole page over, in every layer and head.
  void copy(PageId from, PageId to) const;

 private:
  KvShape shape_;
  std::uint32_t pages_;
  std::uint64_t record_bytes_;
  AlignedBuffer<std::byte> storage_;
};

}  // namespace weir::compute
