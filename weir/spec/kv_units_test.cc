#include "weir/spec/kv_units.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "weir/base/ids.h"

namespace weir {
namespace {

/// `local` of `layers` are local, spread evenly.
ModelShape shape_of(std::uint32_t layers, std::uint32_t local, std::uint32_t window) {
  ModelShape s;
  s.layers = layers;
  s.window = window;
  if (window == 0) return s;
  for (std::uint32_t i = 0; i < layers; ++i)
    s.local_layer.push_back((i + 1) * local / layers > i * local / layers);
  return s;
}

TEST(KvUnits, AreOfAsManyLayersAsDivideBothKinds) {
  const KvUnits gemma3_270m = kv_units(shape_of(18, 15, 512), 32768);
  EXPECT_EQ(gemma3_270m.layers, 3U);
  EXPECT_EQ(gemma3_270m.whole, 1U);
  EXPECT_EQ(gemma3_270m.windowed, 5U);
  const KvUnits gemma3_4b = kv_units(shape_of(34, 29, 1024), 131072);
  EXPECT_EQ(gemma3_4b.layers, 1U);
  EXPECT_EQ(gemma3_4b.of_page(), 34U);
}

TEST(KvUnits, AModelWithoutAWindowThatMattersHasOneAPage) {
  for (const ModelShape& s : {shape_of(30, 0, 0), shape_of(18, 15, 512)}) {
    const KvUnits u = kv_units(s, 512);
    EXPECT_EQ(u.layers, s.layers);
    EXPECT_EQ(u.whole, 1U);
    EXPECT_EQ(u.windowed, 0U);
    EXPECT_EQ(u.of_sequence(100, 50), 7U);
    EXPECT_EQ(u.positions_in(7, 50), 112U);
    EXPECT_EQ(u.first_windowed(1000), 0U);
  }
}

TEST(KvUnits, AModelOfLocalLayersOnlyHoldsItsWindowHoweverLongItGets) {
  const KvUnits u = kv_units(shape_of(32, 32, 4096), 32768);
  EXPECT_EQ(u.whole, 0U);
  EXPECT_EQ(u.windowed, 1U);
  EXPECT_EQ(u.of_sequence(32768, 1), 257U);
  EXPECT_GE(u.positions_in(257, 1), 32768U);
}

TEST(KvUnits, OfASequenceIsWhatItsPagesNeedAndNoStepNeedsMore) {
  for (const std::uint32_t window : {1U, 15U, 16U, 17U, 40U}) {
    const KvUnits u{.layers = 1, .whole = 2, .windowed = 3, .window = window};
    for (const std::uint32_t rows : {1U, 2U, 16U, 31U}) {
      std::uint64_t most = 0;
      for (std::uint32_t computed = 0; computed < 300; ++computed) {
        const std::uint32_t end = (computed + rows - 1) / kPageTokens + 1;
        most = std::max<std::uint64_t>(most, end - u.first_windowed(computed));
        // The row at `computed` sees `window` positions, itself included.
        EXPECT_LE(u.first_windowed(computed) * kPageTokens + window, std::max(computed, window));
        EXPECT_LE(end * 2 + (end - u.first_windowed(computed)) * 3,
                  u.of_sequence(computed + rows, rows));
      }
      EXPECT_EQ(most, u.most_windowed(rows));
      for (std::uint64_t units = 0; units < 200; ++units) {
        const std::uint64_t n = u.positions_in(units, rows);
        EXPECT_LE(u.of_sequence(n, rows), units);
        EXPECT_GT(u.of_sequence(n + 1, rows), units);
      }
    }
  }
}

TEST(KvUnits, EveryLayerHasAPlaceOfItsOwn) {
  for (const auto& [layers, local] :
       {std::pair{18U, 15U}, {26U, 22U}, {34U, 29U}, {4U, 4U}, {6U, 0U}}) {
    const ModelShape s = shape_of(layers, local, local == 0 ? 0 : 64);
    const KvUnits u = kv_units(s, 4096);
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    const auto places = layer_places(s, u);
    ASSERT_EQ(places.size(), layers);
    for (std::uint32_t i = 0; i < layers; ++i) {
      EXPECT_LT(places[i].unit, u.of_page());
      EXPECT_LT(places[i].layer, u.layers);
      EXPECT_EQ(places[i].unit >= u.whole, s.is_local(i));
      EXPECT_TRUE(seen.emplace(places[i].unit, places[i].layer).second);
    }
  }
}

}  // namespace
}  // namespace weir
