// The quantised kernels for Arm processors with smmla: from Cortex-A510 and A710, Neoverse V1 and
// N2 on.
#if defined(__aarch64__)
#define WEIR_NEON_GRADE 2
#define WEIR_NEON_NAMESPACE N_NEON_I8MM
#define WEIR_NEON_TARGET "arch=armv8.2-a+crypto+dotprod+i8mm"
#include "weir/compute/neon_again-inl.h"
// Below the macros.
#include "weir/compute/matmul_quantised.cc"
#endif
