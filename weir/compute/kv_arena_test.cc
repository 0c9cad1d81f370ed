#include "weir/compute/kv_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "weir/compute/attention.h"
#include "weir/compute/test_targets.h"

namespace weir::compute {
namespace {

/// Six layers, of which 0 and 3 are global: a page is one whole unit and two windowed ones.
constexpr KvShape kShape{.layers = 6, .kv_heads = 2, .head_dim = 32, .type = DType::kF32};
constexpr KvUnits kUnits{.layers = 2, .whole = 1, .windowed = 2, .window = 20};
const std::vector<LayerPlace> kPlaces = {{0, 0}, {1, 0}, {1, 1}, {0, 1}, {2, 0}, {2, 1}};

UnitId unit(std::uint32_t i) { return UnitId{i}; }

TEST(KvArena, ALayerOfAPageIsInTheUnitThatTheTableSays) {
  KvArena arena(kShape, kUnits, kPlaces, 9);
  EXPECT_EQ(arena.bytes(), 9 * KvArena::bytes_per_unit(kShape, kUnits));
  EXPECT_EQ(3 * KvArena::bytes_per_unit(kShape, kUnits), KvArena::bytes_per_page(kShape));
  const std::vector<UnitId> table = {unit(7), unit(0), unit(3), unit(2), unit(8), unit(5)};
  arena.look_up_units(table);
  // Every (layer, page, head) has bytes of its own.
  std::vector<std::byte*> seen;
  for (std::uint32_t layer = 0; layer < 6; ++layer) {
    for (std::uint32_t page = 0; page < 2; ++page) {
      for (std::uint32_t head = 0; head < 2; ++head)
        seen.push_back(arena.record(layer, PageId{page}, head));
    }
  }
  std::ranges::sort(seen);
  for (std::size_t i = 1; i < seen.size(); ++i)
    EXPECT_GE(seen[i] - seen[i - 1], static_cast<std::ptrdiff_t>(arena.layout().record_bytes));
  // And a unit's are the same whichever page has it.
  std::byte* const before = arena.record(4, PageId{1}, 1);
  const std::vector<UnitId> later = {unit(1), unit(6), unit(5), kNoUnit, kNoUnit, kNoUnit};
  arena.look_up_units(later);
  EXPECT_EQ(arena.record(4, PageId{0}, 1), before);
}

TEST(KvArena, ACopiedPageHoldsTheSameInEveryLayer) {
  KvArena arena(kShape, kUnits, kPlaces, 6);
  const std::vector<UnitId> table = {unit(5), unit(0), unit(3), unit(2), unit(1), unit(4)};
  arena.look_up_units(table);
  std::vector<float> kv(2 * 32);
  for (std::uint32_t layer = 0; layer < 6; ++layer) {
    std::iota(kv.begin(), kv.end(), static_cast<float>(100 * layer));
    for (std::uint32_t slot = 0; slot < kPageTokens; ++slot)
      arena.write(layer, PageId{0}, slot, kv.data(), kv.data());
  }
  arena.copy(PageId{0}, PageId{1});
  for (std::uint32_t layer = 0; layer < 6; ++layer) {
    EXPECT_EQ(std::memcmp(arena.record(layer, PageId{0}, 0), arena.record(layer, PageId{1}, 0),
                          2 * arena.layout().record_bytes),
              0);
  }
}

/// Attention of the rows from `first` on in local layer 2, all pages there.
std::vector<float> attended(ThreadPool& pool, const KvArena& arena, const std::vector<float>& q,
                            std::span<const PageId> pages, std::uint32_t first,
                            std::uint32_t rows) {
  std::vector<float> out(rows * 64);
  const AttentionRows r{.q = q.data(),
                        .out = out.data(),
                        .q_stride = 64,
                        .out_stride = 64,
                        .rows = rows,
                        .first_position = first,
                        .pages = pages};
  // One position more is kept than is seen.
  const AttentionShape shape{
      .layer = 2, .heads = 2, .scale = 0.2F, .soft_cap = 0, .window = kUnits.window - 1};
  pool.run([&](const ThreadPool::Team& team) { attend(team, arena, shape, std::span(&r, 1)); });
  return out;
}

TEST(KvArena, WhatLiesBehindTheWindowIsNeverRead) {
  constexpr std::uint32_t kPages = 40;
  KvArena arena(kShape, kUnits, kPlaces, 3 * kPages);
  std::vector<UnitId> table;
  for (std::uint32_t i = 0; i < 3 * kPages; ++i) table.push_back(unit(3 * kPages - 1 - i));
  arena.look_up_units(table);
  std::vector<PageId> pages;
  Dice dice(5);
  for (std::uint32_t p = 0; p < kPages; ++p) {
    pages.push_back(PageId{p});
    for (std::uint32_t slot = 0; slot < kPageTokens; ++slot) {
      std::vector<float> kv(64);
      for (float& x : kv) x = dice.symmetric();
      arena.write(2, PageId{p}, slot, kv.data(), kv.data());
    }
  }
  std::vector<float> q(48 * 64);
  for (float& x : q) x = dice.symmetric();
  on_every_target([&] {
    for (const std::size_t threads : {1, 3}) {
      ThreadPool pool(threads);
      for (const std::uint32_t rows : {1U, 5U, 17U, 48U}) {
        for (const std::uint32_t first : {0U, 19U, 21U, 130U, 300U, 583U}) {
          arena.look_up_units(table);
          const auto whole = attended(pool, arena, q, pages, first, rows);
          std::vector<UnitId> gaps = table;
          for (std::uint32_t p = 0; p < kUnits.first_windowed(first); ++p)
            gaps[p * 3 + 1] = gaps[p * 3 + 2] = kNoUnit;
          // Nor what comes after.
          for (std::uint32_t p = (first + rows - 1) / kPageTokens + 1; p < kPages; ++p)
            gaps[p * 3] = gaps[p * 3 + 1] = gaps[p * 3 + 2] = kNoUnit;
          arena.look_up_units(gaps);
          EXPECT_EQ(attended(pool, arena, q, pages, first, rows), whole)
              << rows << " rows from " << first;
        }
      }
    }
  });
}

TEST(KvArenaDeathTest, AGapIsNotRead) {
  KvArena arena(kShape, kUnits, kPlaces, 3);
  const std::vector<UnitId> table = {unit(0), kNoUnit, kNoUnit};
  arena.look_up_units(table);
  EXPECT_NE(arena.record(3, PageId{0}, 0), nullptr);
  EXPECT_DEATH((void)arena.record(1, PageId{0}, 0), "has its unit");
}

}  // namespace
}  // namespace weir::compute
