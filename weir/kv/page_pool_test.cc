#include "weir/kv/page_pool.h"

#include <gtest/gtest.h>

#include <set>

#include "weir/base/random.h"

namespace weir::kv {
namespace {

TEST(PagePool, ARequestForMoreThanIsFreeTakesNothing) {
  PagePool pool(4);
  std::vector<PageId> pages;
  ASSERT_TRUE(pool.take(3, pages));
  EXPECT_FALSE(pool.take(2, pages));
  EXPECT_EQ(pages.size(), 3U);
  EXPECT_EQ(pool.free(), 1U);
  pool.check();
}

TEST(PagePool, RandomTakingAndGivingBackMatchesASet) {
  constexpr std::uint64_t kSeed = 20261129;
  SCOPED_TRACE(kSeed);
  PagePool pool(257);
  std::vector<std::vector<PageId>> holders;
  std::set<PageId> held;
  for (std::uint64_t step = 0; step < 20000; ++step) {
    const auto r = philox(kSeed, step);
    if (r[0] % 2 == 0) {
      const std::uint32_t count = r[1] % 20;
      std::vector<PageId> pages;
      const bool fits = count <= 257 - held.size();
      ASSERT_EQ(pool.take(count, pages), fits);
      ASSERT_EQ(pages.size(), fits ? count : 0U);
      for (PageId page : pages) ASSERT_TRUE(held.insert(page).second) << "page given twice";
      holders.push_back(pages);
    } else if (!holders.empty()) {
      const std::size_t i = r[1] % holders.size();
      pool.give_back(holders[i]);
      for (PageId page : holders[i]) held.erase(page);
      holders.erase(holders.begin() + static_cast<std::ptrdiff_t>(i));
    }
    ASSERT_EQ(pool.held(), held.size());
    pool.check();
  }
}

TEST(PagePoolDeathTest, GivingBackTwiceIsOurFault) {
  PagePool pool(2);
  std::vector<PageId> pages;
  ASSERT_TRUE(pool.take(1, pages));
  pool.give_back(pages);
  EXPECT_DEATH(pool.give_back(pages), "only a held page");
}

}  // namespace
}  // namespace weir::kv
