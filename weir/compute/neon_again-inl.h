/// Lets a kernel file be compiled once more for a grade of NEON. Highway 1.0.3 knows one NEON,
/// whose vectors serve here under a second name, with more instructions allowed:
///
///     #define WEIR_NEON_GRADE 1                      1 has sdot, 2 has smmla too
///     #define WEIR_NEON_NAMESPACE N_NEON_DOTPROD     where the kernels land
///     #define WEIR_NEON_TARGET "..."                 the target attribute of their functions
///     #include "weir/compute/neon_again-inl.h"
///     #include "weir/compute/matmul_quantised.cc"
///
/// Attributes of functions, and not flags of the file: what such a file shares with others (inline
/// functions of the library) stays fit for every processor.

#ifndef WEIR_NEON_GRADE
#error "for files that compile kernels for a grade of NEON"
#endif

#define HWY_COMPILE_ONLY_STATIC
#include <hwy/foreach_target.h>
// After it.
#include <hwy/highway.h>

#if HWY_TARGET != HWY_NEON
#error "64-bit Arm has NEON"
#endif

namespace hwy {
namespace WEIR_NEON_NAMESPACE = N_NEON;
}
#undef HWY_NAMESPACE
#define HWY_NAMESPACE WEIR_NEON_NAMESPACE

// Spelled out, since Highway leaves attributes out of its own where the compiler is clang.
#undef HWY_BEFORE_NAMESPACE
#undef HWY_AFTER_NAMESPACE
#define HWY_BEFORE_NAMESPACE()          \
  HWY_PUSH_ATTRIBUTES(WEIR_NEON_TARGET) \
  static_assert(true, "a semicolon follows")
#define HWY_AFTER_NAMESPACE() HWY_POP_ATTRIBUTES static_assert(true, "a semicolon follows")
