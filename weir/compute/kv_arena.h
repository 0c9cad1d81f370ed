#pragma once

/// The bytes of the KV cache: for every layer, page and KV head, the keys and values of kPageTokens
/// positions, in one of four types. A PageId names the same page in every layer. Which pages belong
/// to whom is kv/'s business; the arena knows no sequence.
///
/// Layers are outermost, then pages, then KV heads; kv_layout.h says what a record of one (layer,
/// page, head) looks like. What attention reads is what was stored, rounded to the type, also in
/// the step that stores it. Thread safety: distinct positions and distinct heads may be written by
/// different workers, also of one page.

#include <cstdint>

#include "weir/base/ids.h"
#include "weir/compute/buffer.h"
#include "weir/compute/kv_layout.h"

namespace weir::compute {

class KvArena {
 public:
  [[nodiscard]] static std::uint64_t bytes_per_page(
      const KvShape& shape);  ///< Over all layers, K and V.

  /// REQUIRES: is_kv_type(shape.type).
  KvArena(const KvShape& shape, std::uint32_t pages);

  [[nodiscard]] const KvShape& shape() const { return shape_; }
  [[nodiscard]] const KvLayout& layout() const { return layout_; }
  [[nodiscard]] std::uint32_t pages() const { return pages_; }
  [[nodiscard]] std::uint64_t bytes() const { return storage_.bytes(); }

  /// The record of (layer, page, head), layout().record_bytes long.
  [[nodiscard]] std::byte* record(std::uint32_t layer, PageId page, std::uint32_t head) const {
    const std::uint64_t at = (std::uint64_t{layer} * pages_ + index(page)) * shape_.kv_heads + head;
    return storage_.data() + at * layout_.record_bytes;
  }

  /// Stores one position's keys and values of every KV head.
  /// k, v: [kv_heads, head_dim] floats, rounded to the arena's type.
  void write(std::uint32_t layer, PageId page, std::uint32_t slot, const float* k,
             const float* v) const;
  /// The same of one KV head. k, v: [head_dim].
  void write_head(std::uint32_t layer, PageId page, std::uint32_t slot, std::uint32_t head,
                  const float* k, const float* v) const;

  /// Carries a whole page over, in every layer and head.
  void copy(PageId from, PageId to) const;

 private:
  KvShape shape_;
  KvLayout layout_;
  std::uint32_t pages_;
  AlignedBuffer<std::byte> storage_;
};

}  // namespace weir::compute
