#pragma once

/// Identities that must not be mixed up. Comparable and hashable, never arithmetic.

#include <cstdint>

namespace weir {

/// A token of one model's vocabulary.
using TokenId = std::int32_t;

/// A page of the KV pool: kPageTokens consecutive positions of one sequence, over all layers. It
/// stands for units of memory (spec/kv_units.h), of which some may have been given back.
enum class PageId : std::uint32_t {};
[[nodiscard]] constexpr std::uint32_t index(PageId page) {
  return static_cast<std::uint32_t>(page);
}

/// A unit of the KV pool's memory: a page, in some of the layers. All units are of one size.
enum class UnitId : std::uint32_t {};
[[nodiscard]] constexpr std::uint32_t index(UnitId unit) {
  return static_cast<std::uint32_t>(unit);
}
inline constexpr UnitId kNoUnit{0xFFFFFFFF};

/// PagedAttention (Kwon et al. 2023, section 4.3) found 16 to lose little either to
/// fragmentation or to bandwidth.
inline constexpr std::uint32_t kPageTokens = 16;

}  // namespace weir
