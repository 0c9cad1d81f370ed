#include "weir/text/merge_table.h"

#include <gtest/gtest.h>

#include "weir/base/random.h"

namespace weir::text {
namespace {

/// The definition: while a rule applies, apply the best, leftmost.
std::vector<std::uint32_t> naive(std::vector<std::uint32_t> s, const MergeTable& table) {
  for (;;) {
    std::size_t best = 0;
    std::uint32_t priority = MergeTable::kNone;
    for (std::size_t i = 0; i + 1 < s.size(); ++i) {
      const auto rule = table.find(s[i], s[i + 1]);
      if (rule.priority < priority) {
        priority = rule.priority;
        best = i;
      }
    }
    if (priority == MergeTable::kNone) return s;
    s[best] = table.find(s[best], s[best + 1]).result;
    s.erase(s.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(MergeTable, ShortAndLongPiecesMergeAsDefined) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::uint64_t counter = 0;
    const auto draw = [&](std::uint64_t n) {
      return static_cast<std::uint32_t>(philox(seed, counter++)[0] % n);
    };
    MergeTable table(40);
    for (std::uint32_t i = 0; i < 40; ++i) table.add(draw(4 + i), draw(4 + i), {draw(12), 4 + i});
    std::vector<std::uint32_t> symbols(1 + draw(3 * MergeTable::kShort));
    for (auto& s : symbols) s = draw(4);
    const auto want = naive(symbols, table);
    table.merge(symbols);
    ASSERT_EQ(symbols, want) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weir::text
