#pragma once

/// For tests: runs a body once on every instruction set this machine has, the scalar twin among
/// them.

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdint>

#include "weir/base/random.h"
#include "weir/compute/kernel_target.h"

namespace weir::compute {

template <class F>
void on_every_target(F&& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    ASSERT_EQ(kernel_target(), hwy::TargetName(target)) << "another target ran than was forced";
    SCOPED_TRACE(hwy::TargetName(target));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// A stream of numbers from a seed that the test prints when it fails.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  double uniform() { return weir::uniform(seed_, counter_++); }  ///< [0, 1)
  float symmetric() { return static_cast<float>(2.0 * uniform() - 1.0); }
  std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(n));
  }

 private:
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

}  // namespace weir::compute
