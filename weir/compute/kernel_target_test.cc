// That the kernels a test forces, or a processor deserves, are those that run.

#include "weir/compute/kernel_target.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "weir/compute/matmul.h"
#include "weir/compute/panel.h"
#include "weir/compute/test_targets.h"

namespace weir::compute {
namespace {

TEST(KernelTarget, IsTheOneThisRunExpects) {
  // tools/check emulates processors, and knows what each has.
  const char* expected = std::getenv("WEIR_TEST_KERNEL_TARGET");
  if (expected == nullptr) GTEST_SKIP() << "WEIR_TEST_KERNEL_TARGET is not set";
  EXPECT_EQ(kernel_target(), expected);
}

TEST(KernelTarget, EveryTargetIsForcedOnceAndTheBestIsChosenAgain) {
  const std::string best(kernel_target());
  std::multiset<std::string> seen;
  on_every_target_and_grade([&] { seen.emplace(kernel_target()); });
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), seen.size());
  EXPECT_EQ(seen.count("SCALAR"), 1U);
  EXPECT_EQ(seen.count(best), 1U);
  EXPECT_EQ(kernel_target(), best);
}

#if defined(__aarch64__)

/// Four rows times one panel of zeros: every grade uses its own instruction from three rows on.
void multiply_four_rows() {
  constexpr PanelFormat format = panel_format(DType::kQ4_0);
  constexpr std::uint64_t kRows = 4;
  const std::vector<std::byte> panel(format.panel_bytes(kBlockColumns));
  const std::vector<std::int8_t> codes(kRows * kBlockColumns, 1);
  const std::vector<float> ones(kRows, 1.0F);
  const std::vector<std::int32_t> code_sums(2 * kRows, 16);
  std::vector<float> out(kRows * 16);
  PanelProduct p;
  p.type = DType::kQ4_0;
  p.panels = panel.data();
  p.panel_bytes = panel.size();
  p.count = 1;
  p.outputs = 16;
  p.columns = kBlockColumns;
  p.rows = kRows;
  p.codes = codes.data();
  p.scales = ones.data();
  p.scaled_sums = ones.data();
  p.code_sums = code_sums.data();
  p.out = out.data();
  p.out_stride = 16;
  multiply_quantised(p);
}

TEST(KernelTarget, AGradeTheProcessorHasRunsAndOneItLacksIsAnIllegalInstruction) {
  // The proof that the forced kernel is the one running, and that it holds what its name says.
  multiply_four_rows();
  const std::size_t has = neon_grades().size();
  const auto all = neon_grades(true, true);
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].name);
    force_neon_grade(&all[i]);
    if (i + has >= all.size()) {
      multiply_four_rows();
    } else {
      EXPECT_EXIT(multiply_four_rows(), testing::KilledBySignal(SIGILL), "");
    }
  }
  choose_target_freely();
}

#endif

}  // namespace
}  // namespace weir::compute
