// The quantised kernels for Arm processors with sdot: from Cortex-A55 and A75, Neoverse N1 on.
#if defined(__aarch64__)
#define WEIR_NEON_GRADE 1
#define WEIR_NEON_NAMESPACE N_NEON_DOTPROD
#define WEIR_NEON_TARGET "arch=armv8.2-a+crypto+dotprod"
#include "weir/compute/neon_again-inl.h"
// Below the macros.
#include "weir/compute/matmul_quantised.cc"
#endif
