#pragma once

/// What sequences of each priority class and those above it hold, in units, each counted once
/// however many of them share it.
/// Thread safety: none; one owner.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/ids.h"
#include "weir/spec/kv_units.h"
#include "weir/spec/priority.h"

namespace weir::kv {

class HeldByClass {
 public:
  HeldByClass(const KvUnits& shape, std::uint32_t pages);

  /// A sequence of `priority` has the page in its table, or in its window, 1 or -1 more times.
  void count(std::uint8_t priority, PageId page, int tables, int windows);
  /// Of sequences of this priority or a higher one.
  [[nodiscard]] std::uint32_t units(std::uint8_t priority) const {
    return priority < kPriorities ? from_[priority].units : 0;
  }

  /// Aborts unless `tables` and `windows` [page] are what was counted for this class and above.
  void check(std::uint8_t priority, std::span<const std::uint32_t> tables,
             std::span<const std::uint32_t> windows) const;

 private:
  struct Holders {
    std::vector<std::uint32_t> tables;   ///< [page]: how many of them have it,
    std::vector<std::uint32_t> windows;  ///< and have it in their window.
    std::uint32_t units = 0;             ///< That one of them holds at least.
  };
  [[nodiscard]] std::uint32_t held(std::uint32_t tables, std::uint32_t windows) const {
    return (tables > 0 ? shape_.whole : 0) + (windows > 0 ? shape_.windowed : 0);
  }

  KvUnits shape_;
  std::array<Holders, kPriorities> from_;  ///< [priority]: sequences of it and of higher ones.
};

}  // namespace weir::kv
