#pragma once

/// The bytes of the KV cache: for every layer, page and KV head, the keys and values of kPageTokens
/// positions, in one of four types. The bytes of a page are in units (spec/kv_units.h), and a table
/// says in which; a page of which a window has let go has none for its local layers, and is then
/// neither read nor written there. Which pages belong to whom, and which units to a page, is kv/'s
/// business; the arena knows no sequence.
///
/// The layers of a unit are outermost, then units, then KV heads; kv_layout.h says what a record of
/// one (layer, page, head) looks like. What attention reads is what was stored, rounded to the
/// type, also in the step that stores it. Thread safety: distinct positions and distinct heads may
/// be written by different workers, also of one page.

#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/check.h"
#include "weir/base/ids.h"
#include "weir/compute/buffer.h"
#include "weir/compute/kv_layout.h"
#include "weir/spec/kv_units.h"

namespace weir::compute {

class KvArena {
 public:
  [[nodiscard]] static std::uint64_t bytes_per_page(
      const KvShape& shape);  ///< Over all layers, K and V.
  [[nodiscard]] static std::uint64_t bytes_per_unit(const KvShape& shape, const KvUnits& units);

  /// Pages of one unit. REQUIRES: is_kv_type(shape.type).
  KvArena(const KvShape& shape, std::uint32_t pages);
  /// `count` units. `places` [layers] says where in a page's units a layer is.
  KvArena(const KvShape& shape, const KvUnits& units, std::vector<LayerPlace> places,
          std::uint32_t count);

  /// From now on unit i of a page is table[page * units.of_page() + i]; the caller keeps the table
  /// alive and changes it between steps only. Before, page p has the units from p * of_page() on.
  void look_up_units(std::span<const UnitId> table) { table_ = table; }

  [[nodiscard]] const KvShape& shape() const { return shape_; }
  [[nodiscard]] const KvLayout& layout() const { return layout_; }
  [[nodiscard]] std::uint32_t units() const { return static_cast<std::uint32_t>(count_); }
  [[nodiscard]] std::uint64_t bytes() const { return storage_.bytes(); }

  /// The record of (layer, page, head), layout().record_bytes long. REQUIRES: the page has its unit
  /// of that layer (asserted).
  [[nodiscard]] std::byte* record(std::uint32_t layer, PageId page, std::uint32_t head) const {
    const LayerPlace place = places_[layer];
    const std::uint64_t entry = std::uint64_t{index(page)} * of_page_ + place.unit;
    const std::uint64_t unit = table_.empty() ? entry : index(table_[entry]);
    WEIR_CHECK(unit < count_, "a page that is read or written has its unit");
    const std::uint64_t at = (place.layer * count_ + unit) * shape_.kv_heads + head;
    return storage_.data() + at * layout_.record_bytes;
  }

  /// Stores one position's keys and values of every KV head.
  /// k, v: [kv_heads, head_dim] floats, rounded to the arena's type.
  void write(std::uint32_t layer, PageId page, std::uint32_t slot, const float* k,
             const float* v) const;
  /// The same of one KV head. k, v: [head_dim].
  void write_head(std::uint32_t layer, PageId page, std::uint32_t slot, std::uint32_t head,
                  const float* k, const float* v) const;

  /// Carries a whole page over, in every layer and head. REQUIRES: both have all their units.
  void copy(PageId from, PageId to) const;

 private:
  KvShape shape_;
  KvLayout layout_;
  std::vector<LayerPlace> places_;  ///< [layers]
  std::uint32_t of_page_;           ///< Units.
  std::uint64_t count_;
  std::span<const UnitId> table_;
  AlignedBuffer<std::byte> storage_;
};

}  // namespace weir::compute
