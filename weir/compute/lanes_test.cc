// The vocabulary and the functions of the kernels, on every target: conversions exhaustively, the
// transcendental functions against double, and every target against the scalar twin.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "weir/compute/dequantize.h"
#include "weir/compute/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/lanes_test.cc"
#include <hwy/foreach_target.h>

#include "weir/compute/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {
void ExpOf(const float* x, float* y) { store(exp(load(x)), y); }
void ExpOfNegative(const float* x, float* y) { store(exp_of_negative(load(x)), y); }
void TanhOf(const float* x, float* y) { store(tanh(load(x)), y); }
void SiluOf(const float* x, float* y) { store(silu(load(x)), y); }
void GeluOf(const float* x, float* y) { store(gelu_tanh(load(x)), y); }
void FromHalves(const std::uint16_t* x, float* y) { store(load_f16(x), y); }
void ToHalves(const float* x, std::uint16_t* y) { store_f16(load(x), y); }
void FromBrains(const std::uint16_t* x, float* y) { store(load_bf16(x), y); }
float SumOf(const float* x) { return sum_lanes(load(x)); }
}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "weir/compute/test_targets.h"

namespace weir::compute {
namespace {
HWY_EXPORT(ExpOf);
HWY_EXPORT(ExpOfNegative);
HWY_EXPORT(TanhOf);
HWY_EXPORT(SiluOf);
HWY_EXPORT(GeluOf);
HWY_EXPORT(FromHalves);
HWY_EXPORT(ToHalves);
HWY_EXPORT(FromBrains);
HWY_EXPORT(SumOf);

// A dispatch macro cannot be passed on; a function can.
void exp_of(const float* x, float* y) { HWY_DYNAMIC_DISPATCH(ExpOf)(x, y); }
void exp_of_negative_of(const float* x, float* y) { HWY_DYNAMIC_DISPATCH(ExpOfNegative)(x, y); }
void tanh_of(const float* x, float* y) { HWY_DYNAMIC_DISPATCH(TanhOf)(x, y); }
void silu_of(const float* x, float* y) { HWY_DYNAMIC_DISPATCH(SiluOf)(x, y); }
void gelu_of(const float* x, float* y) { HWY_DYNAMIC_DISPATCH(GeluOf)(x, y); }
using Function = void (*)(const float*, float*);

/// Points spread over [-range, range], dense near zero, with the special values.
std::vector<float> points(float range) {
  constexpr std::size_t kCount = 1 << 16;
  std::vector<float> x = {0.0F,  -0.0F,  INFINITY, -INFINITY, NAN,     1e-38F,  -1e-38F,
                          3e38F, -3e38F, range,    -range,    103.97F, -103.97F};
  Dice dice(11);
  while (x.size() < kCount)
    x.push_back(range * dice.symmetric() * static_cast<float>(dice.uniform()));
  return x;
}

std::vector<float> values_of(Function f, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  for (std::size_t i = 0; i < x.size(); i += 16) f(&x[i], &y[i]);
  return y;
}

/// The largest error in units of the last place of the true value, where that is a normal float.
double worst_ulp(Function f, float range, double (*truth)(double)) {
  const std::vector<float> x = points(range);
  const std::vector<float> y = values_of(f, x);
  double worst = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = truth(static_cast<double>(x[i]));
    if (!std::isfinite(x[i]) || std::fabs(want) < 1.2e-38 || std::fabs(want) > 3.4e38) continue;
    const double ulp = std::ldexp(1.0, std::ilogb(want) - 23);
    worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - want) / ulp);
  }
  return worst;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
    if (!both_nan && std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]))
      return false;
  }
  return a.size() == b.size();
}

TEST(Math, TheExponentialOfASoftmaxIsExactWithinItsRangeAndZeroBelow) {
  on_every_target([] {
    std::vector<float> x(16, -INFINITY);
    const std::vector<float> far = {-INFINITY, -3e38F, -1000.0F, -87.7F, NAN, 0.0F, -0.0F, 1e-6F};
    std::ranges::copy(far, x.begin());
    const std::vector<float> y = values_of(exp_of_negative_of, x);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(std::bit_cast<std::uint32_t>(y[i]), 0U) << x[i];
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[5], 1.0F);
    EXPECT_EQ(y[6], 1.0F);
    EXPECT_NEAR(y[7], 1.0F, 2e-6F);
    for (std::size_t i = 8; i < y.size(); ++i) EXPECT_EQ(y[i], 0.0F);
    std::vector<float> near(1 << 16);
    for (std::size_t i = 0; i < near.size(); ++i)
      near[i] = -87.0F * static_cast<float>(i) / static_cast<float>(near.size());
    const std::vector<float> got = values_of(exp_of_negative_of, near);
    for (std::size_t i = 0; i < near.size(); ++i) {
      const double want = std::exp(static_cast<double>(near[i]));
      EXPECT_NEAR(got[i], want, 1.1 * std::ldexp(1.0, std::ilogb(want) - 23)) << near[i];
    }
  });
}

TEST(Math, ErrorsStayWithinTheStatedOnes) {
  on_every_target([] {
    EXPECT_LT(worst_ulp(exp_of, 88.0F, [](double x) { return std::exp(x); }), 1.1);
    EXPECT_LT(worst_ulp(tanh_of, 12.0F, [](double x) { return std::tanh(x); }), 2.0);
    EXPECT_LT(worst_ulp(silu_of, 80.0F, [](double x) { return x / (1.0 + std::exp(-x)); }), 3.0);
    // The argument's rounding grows with the exponential in the far tail, where the value vanishes.
    EXPECT_LT(
        worst_ulp(gelu_of, 3.0F,
                  [](double x) {
                    return 0.5 * x *
                           (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
                  }),
        40.0);
  });
}

TEST(Math, EveryTargetGivesTheSameBits) {
  for (const Function f : {exp_of, exp_of_negative_of, tanh_of, silu_of, gelu_of}) {
    std::vector<float> first;
    on_every_target([&] {
      const std::vector<float> y = values_of(f, points(110.0F));
      if (first.empty()) first = y;
      EXPECT_TRUE(same_bits(first, y));
    });
  }
}

TEST(Math, TheEndsOfExpAreZeroInfinityAndNaN) {
  on_every_target([] {
    const std::vector<float> x = {-INFINITY, -200.0F, -104.0F, 89.0F, 200.0F, INFINITY, NAN, 0.0F,
                                  0,         0,       0,       0,     0,      0,        0,   0};
    const std::vector<float> y = values_of(exp_of, x);
    EXPECT_EQ(y[0], 0.0F);
    EXPECT_EQ(y[1], 0.0F);
    EXPECT_EQ(y[2], 0.0F);
    EXPECT_EQ(y[3], INFINITY);
    EXPECT_EQ(y[4], INFINITY);
    EXPECT_EQ(y[5], INFINITY);
    EXPECT_TRUE(std::isnan(y[6]));
    EXPECT_EQ(y[7], 1.0F);
  });
}

TEST(Half, EveryHalfIsReadExactlyAndWrittenBack) {
  on_every_target([] {
    for (std::uint32_t bits = 0; bits < 0x10000; bits += 16) {
      std::uint16_t halves[16];
      std::uint16_t back[16];
      float values[16];
      for (std::uint32_t i = 0; i < 16; ++i) halves[i] = static_cast<std::uint16_t>(bits + i);
      HWY_DYNAMIC_DISPATCH(FromHalves)(halves, values);
      HWY_DYNAMIC_DISPATCH(ToHalves)(values, back);
      for (std::uint32_t i = 0; i < 16; ++i) {
        const float want = f16_to_f32(halves[i]);
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(values[i])) << halves[i];
          ASSERT_TRUE(std::isnan(f16_to_f32(back[i]))) << halves[i];
          continue;
        }
        ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(want))
            << halves[i];
        ASSERT_EQ(back[i], halves[i]);
      }
    }
  });
}

TEST(Half, RoundingIsToTheNearestWithTiesToEven) {
  // Between every two neighbouring finite halves: just below the middle, the middle, just above.
  std::vector<float> x;
  std::vector<std::uint16_t> want;
  for (std::uint32_t h = 0; h < 0x7BFF; ++h) {
    const auto low = static_cast<std::uint16_t>(h);
    const auto high = static_cast<std::uint16_t>(h + 1);
    const float middle = (f16_to_f32(low) + f16_to_f32(high)) / 2.0F;
    const std::uint16_t even = h % 2 == 0 ? low : high;
    for (const std::uint16_t sign : {0, 0x8000}) {
      const float s = sign == 0 ? 1.0F : -1.0F;
      x.insert(x.end(), {s * std::nextafter(middle, 0.0F), s * middle,
                         s * std::nextafter(middle, INFINITY)});
      for (const std::uint16_t half : {low, even, high})
        want.push_back(static_cast<std::uint16_t>(half | sign));
    }
  }
  for (const float big : {65519.0F, 65520.0F, 1e9F}) {
    x.push_back(big);
    want.push_back(big < 65520.0F ? 0x7BFF : 0x7C00);
  }
  x.resize((x.size() + 15) / 16 * 16);
  want.resize(x.size());
  on_every_target([&] {
    std::uint16_t halves[16];
    for (std::size_t i = 0; i < x.size(); i += 16) {
      HWY_DYNAMIC_DISPATCH(ToHalves)(&x[i], halves);
      for (std::size_t k = 0; k < 16; ++k) {
        ASSERT_EQ(halves[k], want[i + k]) << x[i + k];
        ASSERT_EQ(f32_to_f16(x[i + k]), want[i + k]) << x[i + k];
      }
    }
  });
}

TEST(Lanes, BrainFloatsAreTheUpperHalfOfAFloat) {
  std::uint16_t bits[16];
  float want[16];
  float got[16];
  for (std::uint16_t i = 0; i < 16; ++i) {
    bits[i] = static_cast<std::uint16_t>(0x3F80 + 37 * i);
    want[i] = bf16_to_f32(bits[i]);
  }
  on_every_target([&] {
    HWY_DYNAMIC_DISPATCH(FromBrains)(bits, got);
    EXPECT_EQ(std::memcmp(got, want, sizeof got), 0);
  });
}

TEST(Lanes, SumsAreMergedInOneOrder) {
  Dice dice(12);
  for (int round = 0; round < 100; ++round) {
    float x[16];
    for (float& v : x) v = dice.symmetric();
    float y[16];
    std::memcpy(y, x, sizeof y);
    for (int width = 8; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) y[i] += y[i + width];
    }
    on_every_target([&] { EXPECT_EQ(HWY_DYNAMIC_DISPATCH(SumOf)(x), y[0]); });
  }
}

}  // namespace
}  // namespace weir::compute
#endif
