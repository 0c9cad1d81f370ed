#include "weir/kv/held_by_class.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir::kv {

HeldByClass::HeldByClass(const KvUnits& shape, std::uint32_t pages) : shape_(shape) {
  for (Holders& h : from_) {
    h.tables.assign(pages, 0);
    h.windows.assign(pages, 0);
  }
}

void HeldByClass::count(std::uint8_t priority, PageId page, int tables, int windows) {
  const std::size_t at = index(page);
  for (std::size_t p = 0; p <= priority; ++p) {
    Holders& h = from_[p];
    h.units -= held(h.tables[at], h.windows[at]);
    h.tables[at] += static_cast<std::uint32_t>(tables);
    h.windows[at] += static_cast<std::uint32_t>(windows);
    h.units += held(h.tables[at], h.windows[at]);
  }
}

void HeldByClass::check(std::uint8_t priority, std::span<const std::uint32_t> tables,
                        std::span<const std::uint32_t> windows) const {
  const Holders& h = from_[priority];
  WEIR_CHECK(std::ranges::equal(tables, h.tables) && std::ranges::equal(windows, h.windows),
             "tables are counted by priority");
  std::uint64_t units = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) units += held(tables[i], windows[i]);
  WEIR_CHECK(units == h.units, "a unit is counted once");
}

}  // namespace weir::kv
