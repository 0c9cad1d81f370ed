#include "weir/compute/neon_grade.h"

#if defined(__aarch64__)

#include <asm/hwcap.h>
#include <sys/auxv.h>

#include <atomic>

namespace weir::compute {

// matmul_quantised_i8mm.cc, matmul_quantised_dotprod.cc
namespace N_NEON_I8MM {
void MultiplyQuantised(const PanelProduct& p);
}
namespace N_NEON_DOTPROD {
void MultiplyQuantised(const PanelProduct& p);
}

namespace {

constexpr NeonGrade kGrades[] = {{"NEON_I8MM", N_NEON_I8MM::MultiplyQuantised},
                                 {"NEON_DOTPROD", N_NEON_DOTPROD::MultiplyQuantised}};

std::atomic<const NeonGrade*>& chosen() {
  static std::atomic<const NeonGrade*> grade =
      neon_grades().empty() ? nullptr : neon_grades().data();
  return grade;
}

}  // namespace

std::span<const NeonGrade> neon_grades(bool dotprod, bool i8mm) {
  const std::span<const NeonGrade> all = kGrades;
  return dotprod && i8mm ? all : dotprod ? all.subspan(1) : all.subspan(2);
}

std::span<const NeonGrade> neon_grades() {
  return neon_grades((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0,
                     (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0);
}

const NeonGrade* neon_grade() { return chosen().load(std::memory_order_relaxed); }
void force_neon_grade(const NeonGrade* grade) { chosen().store(grade); }

}  // namespace weir::compute

#endif
