#pragma once

/// The byte products of 64-bit Arm came in three grades: multiplications that widen, which every
/// processor has; sdot (2017); smmla, products of small matrices (2019). Highway 1.0.3 knows the
/// first. This is the choice among the others, made once from what the kernel says of the processor
/// (AT_HWCAP, AT_HWCAP2). On x86 there is none. Internal to the folder.
/// Thread safety: neon_grade() from any thread; force_neon_grade() while no kernel runs.

#include <span>
#include <string_view>

#include "weir/compute/matmul.h"

namespace weir::compute {

/// One set of kernels and its name: who reads the name reads what runs.
struct NeonGrade {
  std::string_view name;  ///< "NEON_DOTPROD", "NEON_I8MM"
  void (*multiply_quantised)(const PanelProduct&);
};

#if defined(__aarch64__)
/// Those that run on a processor with these instructions, best first.
[[nodiscard]] std::span<const NeonGrade> neon_grades(bool dotprod, bool i8mm);
/// Those that run on this processor, best first.
[[nodiscard]] std::span<const NeonGrade> neon_grades();
/// The one to use; null leaves it to Highway.
[[nodiscard]] const NeonGrade* neon_grade();
/// For tests: one of neon_grades(), or null.
void force_neon_grade(const NeonGrade* grade);
#else
[[nodiscard]] inline std::span<const NeonGrade> neon_grades() { return {}; }
[[nodiscard]] inline const NeonGrade* neon_grade() { return nullptr; }
inline void force_neon_grade(const NeonGrade* /*grade*/) {}
#endif

}  // namespace weir::compute
