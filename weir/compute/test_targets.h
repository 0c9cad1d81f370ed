#pragma once

/// For tests: runs a body once on every instruction set this machine has, the scalar twin among
/// them; and, for the products that have them, on every grade of NEON.

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstdint>

#include "weir/base/random.h"
#include "weir/compute/kernel_target.h"
#include "weir/compute/neon_grade.h"

namespace weir::compute {

/// Calls body() with one instruction set forced, which must be the one that runs.
template <class F>
void on_target(std::int64_t target, const NeonGrade* grade, F& body) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  force_neon_grade(grade);
  const std::string_view name =
      grade != nullptr ? grade->name : std::string_view(hwy::TargetName(target));
  ASSERT_EQ(kernel_target(), name) << "another target ran than was forced";
  SCOPED_TRACE(name);
  body();
}

inline void choose_target_freely() {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  force_neon_grade(neon_grades().empty() ? nullptr : neon_grades().data());
}

template <class F>
void on_every_target(F&& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    on_target(target, nullptr, body);
  }
  choose_target_freely();
}

/// For the quantised products.
template <class F>
void on_every_target_and_grade(F&& body) {
  on_every_target(body);
  for (const NeonGrade& grade : neon_grades()) on_target(HWY_NEON, &grade, body);
  choose_target_freely();
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
