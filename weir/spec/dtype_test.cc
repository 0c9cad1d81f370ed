#include "weir/spec/dtype.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(DType, EveryTypeIsFoundByItsName) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(dtype_named(info(type).name), type);
  }
  EXPECT_FALSE(dtype_named("Q9_Z"));
}

TEST(DType, ARowIsWholeBlocksOrNothing) {
  EXPECT_EQ(row_bytes(DType::kQ4_1, 576), 576 / 32 * 20U);
  EXPECT_EQ(row_bytes(DType::kQ6_K, 2048), 2048 / 256 * 210U);
  EXPECT_FALSE(row_bytes(DType::kQ4_K, 576));
  EXPECT_FALSE(row_bytes(DType::kF64, ~0ULL));
}

}  // namespace
}  // namespace weir
