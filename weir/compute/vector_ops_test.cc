#include "weir/compute/vector_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "weir/compute/test_targets.h"

namespace weir::compute {
namespace {

using Row = std::vector<float>;

Row random_row(std::size_t n, std::uint64_t seed, float range = 4.0F) {
  Dice dice(seed);
  Row x(n);
  for (float& v : x) v = range * dice.symmetric();
  return x;
}

constexpr std::size_t kSizes[] = {1, 7, 15, 16, 17, 31, 33, 64, 100, 576, 577};

/// `f` maps a row to a row: every target must give the twin's bits at every size and misalignment.
void same_on_every_target(const std::function<Row(std::size_t size, std::size_t offset)>& f) {
  for (const std::size_t n : kSizes) {
    for (const std::size_t offset : {0, 1, 3}) {
      Row first;
      on_every_target([&] {
        const Row out = f(n, offset);
        if (first.empty()) first = out;
        EXPECT_EQ(std::memcmp(first.data(), out.data(), out.size() * sizeof(float)), 0)
            << n << " + " << offset;
      });
    }
  }
}

TEST(VectorOps, RmsNormDividesByTheRootMeanSquare) {
  for (const std::size_t n : kSizes) {
    const Row x = random_row(n, 1);
    const Row w = random_row(n, 2);
    double squares = 0.0;
    for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
    const double factor = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
    Row out(n);
    rms_norm(x, w, 1e-5F, out);
    Row plain(n);
    rms_norm(x, {}, 1e-5F, plain);
    for (std::size_t i = 0; i < n; ++i) {
      const double want = static_cast<double>(x[i]) * factor;
      EXPECT_NEAR(static_cast<double>(plain[i]), want, 1e-6);
      EXPECT_NEAR(static_cast<double>(out[i]), want * static_cast<double>(w[i]), 4e-6);
    }
  }
}

TEST(VectorOps, EveryTargetGivesTheSameBitsAtEverySizeAndNeverWritesPastIt) {
  const auto guarded = [](std::size_t n, std::size_t offset, auto&& op) {
    Row x = random_row(n + offset + 1, 3);
    const float left = offset > 0 ? x[offset - 1] : 0.0F;
    const float right = x[n + offset];
    const Row y = random_row(n, 4);
    op(std::span(x).subspan(offset, n), std::span(y));
    EXPECT_EQ(x[n + offset], right);
    EXPECT_TRUE(offset == 0 || x[offset - 1] == left);
    return x;
  };
  using In = std::span<const float>;
  using InOut = std::span<float>;
  const std::function<void(InOut, In)> ops[] = {
      [](InOut x, In y) { rms_norm(x, y, 1e-6F, x); },
      [](InOut x, In) { rms_norm(x, {}, 1e-6F, x); },
      [](InOut x, In y) { add(y, x); },
      [](InOut x, In) { scale(0.37F, x); },
      [](InOut x, In) { soft_cap(3.0F, x); },
      [](InOut x, In y) { gated(Activation::kSilu, x, y, x); },
      [](InOut x, In y) { gated(Activation::kGeluTanh, x, y, x); },
  };
  for (const auto& op : ops) {
    same_on_every_target([&](std::size_t n, std::size_t offset) { return guarded(n, offset, op); });
  }
}

TEST(VectorOps, GatesAreTheirFormulas) {
  const Row gate = random_row(100, 5);
  const Row up = random_row(100, 6);
  Row out(100);
  gated(Activation::kSilu, gate, up, out);
  for (std::size_t i = 0; i < 100; ++i) {
    const auto g = static_cast<double>(gate[i]);
    EXPECT_NEAR(static_cast<double>(out[i]), g / (1.0 + std::exp(-g)) * static_cast<double>(up[i]),
                3e-6);
  }
  gated(Activation::kGeluTanh, gate, up, out);
  for (std::size_t i = 0; i < 100; ++i) {
    const auto g = static_cast<double>(gate[i]);
    const double gelu =
        0.5 * g * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (g + 0.044715 * g * g * g)));
    EXPECT_NEAR(static_cast<double>(out[i]), gelu * static_cast<double>(up[i]), 3e-6);
  }
}

TEST(VectorOps, SoftCapBendsTowardsTheCap) {
  Row x = {-1000.0F, -3.0F, 0.001F, 0.0F, 3.0F, 1000.0F};
  const Row before = x;
  soft_cap(30.0F, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = 30.0 * std::tanh(static_cast<double>(before[i]) / 30.0);
    EXPECT_NEAR(static_cast<double>(x[i]), want, std::fabs(want) * 1e-6);
  }
}

class RopeOf : public testing::TestWithParam<RopeLayout> {};

TEST_P(RopeOf, EachPairIsTurnedByItsAngleAndTheRestPassesThrough) {
  for (const std::uint32_t dims : {2, 6, 32, 64, 80}) {
    RopeShape shape;
    shape.dims = dims;
    shape.layout = GetParam();
    shape.theta = 10000.0F;
    shape.position_scale = 0.5F;
    shape.magnitude = 1.1F;
    const RopeTable table(shape, 40, false);
    const std::uint32_t head_dim = dims + 3;
    const Row before = random_row(2 * head_dim, dims);
    Row first;
    on_every_target([&] {
      Row x = before;
      rope(shape, table.cosines(37), table.sines(37), 2, head_dim, x.data());
      if (first.empty()) first = x;
      EXPECT_EQ(std::memcmp(first.data(), x.data(), x.size() * sizeof(float)), 0);
    });
    for (std::uint32_t h = 0; h < 2; ++h) {
      for (std::uint32_t i = 0; i < dims / 2; ++i) {
        const bool halves = GetParam() == RopeLayout::kHalves;
        const std::uint32_t a = h * head_dim + (halves ? i : 2 * i);
        const std::uint32_t b = h * head_dim + (halves ? i + dims / 2 : 2 * i + 1);
        const double angle = 37 * 0.5 * std::pow(10000.0, -2.0 * i / dims);
        const double c = 1.1 * std::cos(angle);
        const double s = 1.1 * std::sin(angle);
        const auto x = static_cast<double>(before[a]);
        const auto y = static_cast<double>(before[b]);
        EXPECT_NEAR(static_cast<double>(first[a]), x * c - y * s, 1e-5);
        EXPECT_NEAR(static_cast<double>(first[b]), x * s + y * c, 1e-5);
      }
      for (std::uint32_t i = dims; i < head_dim; ++i)
        EXPECT_EQ(first[h * head_dim + i], before[h * head_dim + i]);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Layouts, RopeOf,
                         testing::Values(RopeLayout::kInterleaved, RopeLayout::kHalves));

TEST(RopeTable, LocalLayersHaveTheirOwnBaseAndTheScalingOnlyWhenAsked) {
  RopeShape shape;
  shape.dims = 4;
  shape.theta = 1e6F;
  shape.local_theta = 1e4F;
  shape.position_scale = 0.125F;
  shape.frequency_divisors = {1.0F, 8.0F};
  const RopeTable global(shape, 10, false);
  EXPECT_NEAR(global.cosines(9)[1], std::cos(9 * 0.125 / 1e3 / 8.0), 1e-7);
  shape.frequency_divisors.clear();
  const RopeTable local(shape, 10, true);
  EXPECT_NEAR(local.sines(9)[1], std::sin(9 / 1e2), 1e-7);
  shape.scale_local_layers = true;
  const RopeTable scaled(shape, 10, true);
  EXPECT_NEAR(scaled.sines(9)[1], std::sin(9 * 0.125 / 1e2), 1e-7);
}

TEST(VectorOps, ArgmaxIsTheFirstOfTheLargest) {
  on_every_target([] {
    for (const std::size_t n : {1, 5, 16, 1023, 1024, 1025, 5000}) {
      Dice dice(n);
      Row x = random_row(n, 7 + n);
      for (int round = 0; round < 20; ++round) {
        const auto a = dice.below(n);
        const auto b = dice.below(n);
        x[a] = x[b] = 10.0F + static_cast<float>(round);
        EXPECT_EQ(argmax(x), static_cast<std::int64_t>(std::min(a, b)));
      }
      x[dice.below(n)] = NAN;
      EXPECT_EQ(argmax(x), -1);
    }
    EXPECT_EQ(argmax({}), -1);
    EXPECT_EQ(argmax(Row{-INFINITY, -INFINITY}), 0);
    EXPECT_EQ(argmax(Row{1.0F, INFINITY, 2.0F}), 1);
    EXPECT_EQ(argmax(Row{-0.0F, 0.0F}), 0);
  });
}

TEST(VectorOps, LogSumExpIsThatOfDoubles) {
  for (const std::size_t n : {1, 16, 100, 4097, 50000}) {
    const Row x = random_row(n, 8 + n, 20.0F);
    double sum = 0.0;
    for (const float v : x) sum += std::exp(static_cast<double>(v) - 20.0);
    double first = 0.0;
    on_every_target([&] {
      const double got = log_sum_exp(x);
      if (first == 0.0) first = got;
      EXPECT_EQ(got, first);
      EXPECT_NEAR(got, 20.0 + std::log(sum), 1e-6);
    });
  }
  EXPECT_TRUE(std::isnan(log_sum_exp(Row{1.0F, NAN})));
  EXPECT_EQ(log_sum_exp(Row{-INFINITY, -INFINITY}), -INFINITY);
}

}  // namespace
}  // namespace weir::compute
