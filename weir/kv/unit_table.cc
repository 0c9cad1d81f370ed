#include "weir/kv/unit_table.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir::kv {

UnitTable::UnitTable(const KvUnits& shape, std::uint32_t units, std::uint32_t pages)
    : shape_(shape), total_(units), table_(std::size_t{pages} * shape.of_page(), kNoUnit) {
  WEIR_CHECK(shape.of_page() > 0 && (shape.windowed == 0 || shape.window > 0),
             "a page has units, and a window its positions");
  free_.reserve(units);
  for (std::uint32_t i = units; i > 0; --i) free_.push_back(UnitId{i - 1});
}

std::uint32_t UnitTable::count(PageId page) const {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(row(page), [](UnitId unit) { return unit != kNoUnit; }));
}

void UnitTable::take(PageId page) {
  WEIR_CHECK(free() >= shape_.of_page(), "units are taken where they are free");
  for (UnitId& unit : row(page)) {
    WEIR_CHECK(unit == kNoUnit, "a page takes units once");
    unit = free_.back();
    free_.pop_back();
  }
}

void UnitTable::give(std::span<UnitId> units) {
  // Last first, so that whoever takes them has them in the same order.
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    if (*unit != kNoUnit) free_.push_back(*unit);
    *unit = kNoUnit;
  }
}

void UnitTable::give(PageId page) { give(row(page)); }

void UnitTable::give_windowed(PageId page) {
  WEIR_CHECK(has_windowed(page), "only what is there is given back");
  give(row(page).subspan(shape_.whole));
}

void UnitTable::move_windowed(PageId from, PageId to) {
  WEIR_CHECK(has_windowed(from) && !has_windowed(to), "windowed units move where there are none");
  const auto source = row(from).subspan(shape_.whole);
  std::ranges::copy(source, row(to).begin() + shape_.whole);
  std::ranges::fill(source, kNoUnit);
}

void UnitTable::check() const {
  std::vector<bool> seen(total_, false);
  const auto see = [&](UnitId unit) {
    WEIR_CHECK(index(unit) < total_ && !seen[index(unit)], "a unit is in one place");
    seen[index(unit)] = true;
  };
  for (UnitId unit : free_) see(unit);
  for (UnitId unit : table_) {
    if (unit != kNoUnit) see(unit);
  }
  WEIR_CHECK(std::ranges::all_of(seen, [](bool s) { return s; }), "no unit is lost");
  for (std::size_t page = 0; page < table_.size() / shape_.of_page(); ++page) {
    const std::uint32_t has = count(PageId{static_cast<std::uint32_t>(page)});
    WEIR_CHECK(has == 0 || has == shape_.whole || has == shape_.of_page(),
               "a page has all or none of either kind");
  }
}

}  // namespace weir::kv
