#include "weir/spec/kv_units.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "weir/base/ids.h"
#include "weir/base/math.h"

namespace weir {

std::uint32_t KvUnits::first_windowed(std::uint32_t computed) const {
  return windowed > 0 && computed > window ? (computed - window) / kPageTokens : 0;
}

std::uint32_t KvUnits::most_windowed(std::uint32_t rows) const {
  // A span of n positions touches one page with its first, and another for every 16 after it.
  const std::uint64_t span = std::uint64_t{window} + rows;
  return static_cast<std::uint32_t>(ceil_div<std::uint64_t>(span - 1, kPageTokens) + 1);
}

std::uint64_t KvUnits::of_sequence(std::uint64_t positions, std::uint32_t rows) const {
  const std::uint64_t pages = ceil_div<std::uint64_t>(positions, kPageTokens);
  if (windowed == 0) return pages * whole;
  return pages * whole + std::min<std::uint64_t>(pages, most_windowed(rows)) * windowed;
}

std::uint64_t KvUnits::positions_in(std::uint64_t units, std::uint32_t rows) const {
  const std::uint64_t all = units / of_page();
  if (windowed == 0) return all * kPageTokens;
  const std::uint64_t most = most_windowed(rows);
  if (all < most) return all * kPageTokens;
  if (whole == 0) return std::numeric_limits<std::uint64_t>::max();
  return (units - most * windowed) / whole * kPageTokens;
}

KvUnits kv_units(const ModelShape& shape, std::uint32_t context) {
  if (shape.window == 0 || shape.window >= context) return {shape.layers, 1, 0, 0};
  const auto local = static_cast<std::uint32_t>(
      std::count(shape.local_layer.begin(), shape.local_layer.end(), true));
  const std::uint32_t layers = std::gcd(shape.layers - local, local);
  return {layers, (shape.layers - local) / layers, local / layers, local == 0 ? 0 : shape.window};
}

std::vector<LayerPlace> layer_places(const ModelShape& shape, const KvUnits& units) {
  std::uint32_t next[] = {0, units.whole * units.layers};
  std::vector<LayerPlace> places;
  for (std::uint32_t i = 0; i < shape.layers; ++i) {
    const std::uint32_t at = next[units.windowed > 0 && shape.is_local(i) ? 1 : 0]++;
    places.push_back({at / units.layers, at % units.layers});
  }
  return places;
}

}  // namespace weir
