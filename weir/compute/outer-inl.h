/// The float kernel shared by plain matrices and by attention: M rows times columns of 16 lanes.
///
///     sum[m][lane] += w[k][lane] * x[m][k]    for k = 0 .. n - 1, one fma each, in this order
///
/// Included once per target: per-target include guard, no #pragma once.

#if defined(WEIR_COMPUTE_OUTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_COMPUTE_OUTER_INL_H_
#undef WEIR_COMPUTE_OUTER_INL_H_
#else
#define WEIR_COMPUTE_OUTER_INL_H_
#endif

#include "weir/compute/lanes-inl.h"
#include "weir/spec/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {

template <DType kType>
using Stored = std::conditional_t<kType == DType::kF32, float, std::uint16_t>;

template <DType kType>
WEIR_INLINE F32x16 load_as_f32(const Stored<kType>* p) {
  if constexpr (kType == DType::kF32) {
    return load(p);
  } else if constexpr (kType == DType::kF16) {
    return load_f16(p);
  } else {
    return load_bf16(p);
  }
}

/// P column groups at once: with few rows they hide the latency of fma.
template <DType kType, int M, int P>
WEIR_INLINE void accumulate(const Stored<kType>* const (&w)[P], std::uint64_t w_stride,
                            std::uint64_t n, const float* const (&x)[M], F32x16 (&sum)[M][P]) {
  for (std::uint64_t k = 0; k < n; ++k) {
    F32x16 column[P];
    WEIR_UNROLL for (int p = 0; p < P; ++p) column[p] = load_as_f32<kType>(w[p] + k * w_stride);
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      const F32x16 factor = set(x[m][k]);
      WEIR_UNROLL for (int p = 0; p < P; ++p) sum[m][p] = fma(column[p], factor, sum[m][p]);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
