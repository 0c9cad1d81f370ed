#include "weir/compute/kernel_target.h"

#include "weir/compute/neon_grade.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/kernel_target.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {
const char* Name() { return hwy::TargetName(HWY_TARGET); }
}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compute {
HWY_EXPORT(Name);
std::string_view kernel_target() {
  if (const NeonGrade* grade = neon_grade()) return grade->name;
  return HWY_DYNAMIC_DISPATCH(Name)();
}
}  // namespace weir::compute
#endif
