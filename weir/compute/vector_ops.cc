#include "weir/compute/vector_ops.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "weir/base/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/vector_ops.cc"
#include <hwy/foreach_target.h>

#include "weir/compute/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {

/// out[i] = f(x[i]) and out[i] = f(x[i], y[i]) for any length.
template <class F>
WEIR_INLINE void map(const float* x, std::size_t n, float* out, const F& f) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(f(load(x + i)), out + i);
  if (i < n) store_some(f(load_some(x + i, n - i)), out + i, n - i);
}
template <class F>
WEIR_INLINE void map(const float* x, const float* y, std::size_t n, float* out, const F& f) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(f(load(x + i), load(y + i)), out + i);
  if (i < n) store_some(f(load_some(x + i, n - i), load_some(y + i, n - i)), out + i, n - i);
}

struct Plus {
  WEIR_INLINE F32x16 operator()(const F32x16& a, const F32x16& b) const { return add(a, b); }
};
struct Times {
  F32x16 factor;
  WEIR_INLINE F32x16 operator()(const F32x16& a) const { return mul(a, factor); }
  WEIR_INLINE F32x16 operator()(const F32x16& a, const F32x16& b) const {
    return mul(mul(a, factor), b);
  }
};
struct SoftCap {
  F32x16 cap, inverse;
  WEIR_INLINE F32x16 operator()(const F32x16& a) const { return mul(cap, tanh(mul(a, inverse))); }
};
struct SiluGate {
  WEIR_INLINE F32x16 operator()(const F32x16& g, const F32x16& u) const { return mul(silu(g), u); }
};
struct GeluGate {
  WEIR_INLINE F32x16 operator()(const F32x16& g, const F32x16& u) const {
    return mul(gelu_tanh(g), u);
  }
};

void RmsNorm(const float* x, const float* weight, std::size_t n, float epsilon, float* out) {
  F32x16 sums = set(0.0F);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const F32x16 v = load(x + i);
    sums = fma(v, v, sums);
  }
  if (i < n) {
    const F32x16 v = load_some(x + i, n - i);
    sums = fma(v, v, sums);
  }
  const float mean = sum_lanes(sums) / static_cast<float>(n);
  const Times times = {set(1.0F / std::sqrt(mean + epsilon))};
  if (weight == nullptr) {
    map(x, n, out, times);
  } else {
    map(x, weight, n, out, times);
  }
}

void Add(const float* x, std::size_t n, float* into) { map(x, into, n, into, Plus()); }
void Scale(float factor, std::size_t n, float* x) { map(x, n, x, Times{set(factor)}); }
void SoftCapAll(float cap, std::size_t n, float* x) {
  map(x, n, x, SoftCap{set(cap), set(1.0F / cap)});
}
void Gated(bool gelu, const float* gate, const float* up, std::size_t n, float* out) {
  if (gelu) {
    map(gate, up, n, out, GeluGate());
  } else {
    map(gate, up, n, out, SiluGate());
  }
}

/// (a, b) -> (a c - b s, a s + b c), one rounding less each than written.
WEIR_INLINE void rotate(F32x16& a, F32x16& b, const F32x16& c, const F32x16& s) {
  const F32x16 turned = fma_sub(a, c, mul(b, s));
  b = fma(a, s, mul(b, c));
  a = turned;
}

void RopeHalves(const float* cosines, const float* sines, std::size_t half, float* x) {
  std::size_t i = 0;
  for (; i + kLanes <= half; i += kLanes) {
    F32x16 a = load(x + i);
    F32x16 b = load(x + half + i);
    rotate(a, b, load(cosines + i), load(sines + i));
    store(a, x + i);
    store(b, x + half + i);
  }
  if (i == half) return;
  const std::size_t rest = half - i;
  F32x16 a = load_some(x + i, rest);
  F32x16 b = load_some(x + half + i, rest);
  rotate(a, b, load_some(cosines + i, rest), load_some(sines + i, rest));
  store_some(a, x + i, rest);
  store_some(b, x + half + i, rest);
}

void RopeInterleaved(const float* cosines, const float* sines, std::size_t half, float* x) {
  F32x16 a;
  F32x16 b;
  std::size_t i = 0;
  for (; i + kLanes <= half; i += kLanes) {
    load_pairs(x + 2 * i, a, b);
    rotate(a, b, load(cosines + i), load(sines + i));
    store_pairs(a, b, x + 2 * i);
  }
  if (i == half) return;
  const std::size_t rest = half - i;
  alignas(64) float last[2 * kLanes] = {};
  std::memcpy(last, x + 2 * i, 2 * rest * sizeof(float));
  load_pairs(last, a, b);
  rotate(a, b, load_some(cosines + i, rest), load_some(sines + i, rest));
  store_pairs(a, b, last);
  std::memcpy(x + 2 * i, last, 2 * rest * sizeof(float));
}

std::int64_t ArgMax(const float* x, std::size_t n) {
  // Where the largest lies, to a stretch; the stretch is then searched. A NaN has more bits set
  // than infinity, so the difference is negative.
  constexpr std::size_t kStretch = std::size_t{64} * kLanes;
  const float lowest = -std::numeric_limits<float>::infinity();
  const I32x16 infinity = set(0x7F800000);
  const I32x16 magnitude = set(0x7FFFFFFF);
  I32x16 signs = set(0);
  float best = lowest;
  std::size_t where = 0;
  for (std::size_t begin = 0; begin < n; begin += kStretch) {
    const std::size_t end = n - begin < kStretch ? n : begin + kStretch;
    F32x16 most = set(lowest);
    for (std::size_t i = begin; i < end; i += kLanes) {
      const F32x16 v = end - i >= kLanes ? load(x + i) : load_some(x + i, end - i, lowest);
      most = max(v, most);
      signs = bit_or(signs, sub(infinity, bit_and(bits_of(v), magnitude)));
    }
    const float value = max_lanes(most);
    if (value > best) {
      best = value;
      where = begin;
    }
  }
  alignas(64) std::int32_t lanes[kLanes];
  store(signs, lanes);
  for (const std::int32_t lane : lanes) {
    if (lane < 0) return -1;
  }
  while (where < n && x[where] != best) ++where;
  return where < n ? static_cast<std::int64_t>(where) : -1;
}

double SumExp(const float* x, std::size_t n, float largest) {
  // Sixteen partial sums over at most 256 values each, then in double: the error stays below 1e-6.
  constexpr std::size_t kStretch = std::size_t{256} * kLanes;
  const F32x16 shift = set(largest);
  double total = 0.0;
  for (std::size_t begin = 0; begin < n; begin += kStretch) {
    const std::size_t end = n - begin < kStretch ? n : begin + kStretch;
    F32x16 sums = set(0.0F);
    for (std::size_t i = begin; i < end; i += kLanes) {
      const F32x16 v = end - i >= kLanes
                           ? load(x + i)
                           : load_some(x + i, end - i, -std::numeric_limits<float>::infinity());
      sums = add(sums, exp(sub(v, shift)));
    }
    total += static_cast<double>(sum_lanes(sums));
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compute {
HWY_EXPORT(RmsNorm);
HWY_EXPORT(Add);
HWY_EXPORT(Scale);
HWY_EXPORT(SoftCapAll);
HWY_EXPORT(Gated);
HWY_EXPORT(RopeHalves);
HWY_EXPORT(RopeInterleaved);
HWY_EXPORT(ArgMax);
HWY_EXPORT(SumExp);

void rms_norm(std::span<const float> x, std::span<const float> weight, float epsilon,
              std::span<float> out) {
  WEIR_CHECK(out.size() == x.size() && (weight.empty() || weight.size() == x.size()),
             "rows of one size");
  HWY_DYNAMIC_DISPATCH(RmsNorm)(x.data(), weight.empty() ? nullptr : weight.data(), x.size(),
                                epsilon, out.data());
}

void add(std::span<const float> x, std::span<float> into) {
  WEIR_CHECK(x.size() == into.size(), "rows of one size");
  HWY_DYNAMIC_DISPATCH(Add)(x.data(), x.size(), into.data());
}

void scale(float factor, std::span<float> x) {
  HWY_DYNAMIC_DISPATCH(Scale)(factor, x.size(), x.data());
}

void soft_cap(float cap, std::span<float> x) {
  HWY_DYNAMIC_DISPATCH(SoftCapAll)(cap, x.size(), x.data());
}

void gated(Activation activation, std::span<const float> gate, std::span<const float> up,
           std::span<float> out) {
  WEIR_CHECK(gate.size() == up.size() && gate.size() == out.size(), "rows of one size");
  HWY_DYNAMIC_DISPATCH(Gated)
  (activation == Activation::kGeluTanh, gate.data(), up.data(), gate.size(), out.data());
}

void rope(const RopeShape& shape, const float* cosines, const float* sines, std::uint32_t heads,
          std::uint32_t head_dim, float* x) {
  WEIR_CHECK(shape.dims <= head_dim && shape.dims % 2 == 0,
             "a head rotates whole pairs of its own");
  for (std::uint32_t h = 0; h < heads; ++h, x += head_dim) {
    if (shape.layout == RopeLayout::kHalves) {
      HWY_DYNAMIC_DISPATCH(RopeHalves)(cosines, sines, shape.dims / 2, x);
    } else {
      HWY_DYNAMIC_DISPATCH(RopeInterleaved)(cosines, sines, shape.dims / 2, x);
    }
  }
}

std::int64_t argmax(std::span<const float> x) {
  return HWY_DYNAMIC_DISPATCH(ArgMax)(x.data(), x.size());
}

double log_sum_exp(std::span<const float> x) {
  const std::int64_t largest = argmax(x);
  if (largest < 0) return std::numeric_limits<double>::quiet_NaN();
  const float most = x[static_cast<std::size_t>(largest)];
  if (std::isinf(most)) return static_cast<double>(most);
  return static_cast<double>(most) +
         std::log(HWY_DYNAMIC_DISPATCH(SumExp)(x.data(), x.size(), most));
}

}  // namespace weir::compute
#endif
