#pragma once

/// How the keys and values of a page are cut into units, so that a model with sliding windows need
/// not keep all layers of all positions. Global layers read every position before theirs; local
/// ones only the last `window`. With g global and l local layers a unit is 16 positions of
/// gcd(g, l) layers, all units are of one size and serve either kind, and a page is
///
///     whole    = g / gcd(g, l) units that are kept for every position, and
///     windowed = l / gcd(g, l) units that are kept while a row to come may read them.
///
/// A model without windows, or with none shorter than its context, has one unit a page; one whose
/// layers are all local has no whole units. Thread safety: pure functions.

#include <cstdint>
#include <vector>

#include "weir/spec/model_shape.h"

namespace weir {

struct KvUnits {
  std::uint32_t layers = 1;    ///< Of a unit.
  std::uint32_t whole = 1;     ///< Units of a page that are kept for all positions,
  std::uint32_t windowed = 0;  ///< and those that only pages near the end need.
  /// Positions before the next to be computed that are kept in windowed units: what that row sees
  /// and one more, so that a second answer to a prompt can compute the last row of it again.
  std::uint32_t window = 0;

  [[nodiscard]] std::uint32_t of_page() const { return whole + windowed; }

  /// The first page whose windowed units are wanted when `computed` positions are.
  [[nodiscard]] std::uint32_t first_windowed(std::uint32_t computed) const;
  /// Pages that the window and a step's `rows` rows touch, at most.
  [[nodiscard]] std::uint32_t most_windowed(std::uint32_t rows) const;
  /// Units that a sequence of `positions` holds, at most, when a step computes up to `rows` of
  /// them.
  [[nodiscard]] std::uint64_t of_sequence(std::uint64_t positions, std::uint32_t rows) const;
  /// The longest sequence that `units` are enough for, in whole pages.
  [[nodiscard]] std::uint64_t positions_in(std::uint64_t units, std::uint32_t rows) const;
};

/// For sequences of up to `context` positions.
[[nodiscard]] KvUnits kv_units(const ModelShape& shape, std::uint32_t context);

/// Where a layer's keys and values are: in which unit of a page, and as which layer of that unit.
struct LayerPlace {
  std::uint32_t unit = 0;
  std::uint32_t layer = 0;
};
/// [layers]; whole units come first. REQUIRES: `units` are of this shape.
[[nodiscard]] std::vector<LayerPlace> layer_places(const ModelShape& shape, const KvUnits& units);

}  // namespace weir
