#include "weir/kv/page_pool.h"

#include <gtest/gtest.h>

#include <map>

#include "weir/base/random.h"

namespace weir::kv {
namespace {

TEST(PagePool, ASharedPageIsFreeOnlyAfterTheLastReference) {
  PagePool pool(2);
  const PageId page = pool.take();
  pool.add_reference(page);
  pool.drop_reference(page);
  EXPECT_EQ(pool.held(), 1U);
  pool.drop_reference(page);
  EXPECT_EQ(pool.free(), 2U);
  pool.check();
}

TEST(PagePool, ARememberedPageIsCachedUntilForgotten) {
  PagePool pool(2);
  const PageId page = pool.take();
  pool.remember(page);
  pool.drop_reference(page);
  EXPECT_EQ(pool.cached(), 1U);
  pool.add_reference(page);
  EXPECT_EQ(pool.cached(), 0U);
  pool.drop_reference(page);
  pool.forget(page);
  EXPECT_EQ(pool.free(), 2U);
  pool.check();
}

TEST(PagePool, RandomOperationsMatchANaiveModel) {
  constexpr std::uint64_t kSeed = 20261129;
  constexpr std::uint32_t kPages = 61;
  SCOPED_TRACE(kSeed);
  struct Naive {
    std::uint32_t references = 0;
    bool remembered = false;
  };
  PagePool pool(kPages);
  std::map<PageId, Naive> naive;  // Pages that are not free.
  for (std::uint64_t step = 0; step < 100000; ++step) {
    const auto r = philox(kSeed, step);
    if (r[0] % 4 == 0 && naive.size() < kPages) {
      const PageId page = pool.take();
      ASSERT_TRUE(naive.emplace(page, Naive{1, false}).second) << "a page given twice";
    } else if (!naive.empty()) {
      auto it = std::next(naive.begin(), static_cast<std::ptrdiff_t>(r[1] % naive.size()));
      auto& [page, n] = *it;
      switch (r[0] % 4) {
        case 1:
          pool.add_reference(page);
          ++n.references;
          break;
        case 2:
          if (n.references == 0) break;
          pool.drop_reference(page);
          --n.references;
          break;
        default:
          if (n.remembered) {
            pool.forget(page);
            n.remembered = false;
          } else if (n.references > 0) {
            pool.remember(page);
            n.remembered = true;
          }
      }
      if (n.references == 0 && !n.remembered) naive.erase(it);
    }
    std::uint32_t held = 0;
    for (const auto& [page, n] : naive) held += n.references > 0;
    ASSERT_EQ(pool.held(), held);
    ASSERT_EQ(pool.free(), kPages - naive.size());
    if (step % 64 == 0) pool.check();
  }
}

TEST(PagePoolDeathTest, GivingBackTwiceIsOurFault) {
  PagePool pool(2);
  const PageId page = pool.take();
  pool.drop_reference(page);
  EXPECT_DEATH(pool.drop_reference(page), "only a held page");
}

}  // namespace
}  // namespace weir::kv
