#include "weir/compute/linear.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "weir/compute/dequantize.h"
#include "weir/compute/half.h"
#include "weir/compute/test_targets.h"

namespace weir::compute {
namespace {

// The little language: a matrix is random file bytes of a type, a product runs on a pool.

struct Matrix {
  DType type;
  std::uint64_t rows, columns;
  std::vector<std::byte> bytes;
  [[nodiscard]] MatrixView view() const { return {type, rows, columns, bytes}; }
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> v(rows * columns);
    dequantize(type, bytes, v);
    return v;
  }
};

void put_half(std::byte* at, float value) {
  const std::uint16_t half = f32_to_f16(value);
  std::memcpy(at, &half, 2);
}

/// Where a type's block keeps its f16 scales; everything else may be any bytes.
std::vector<std::size_t> half_offsets(DType type) {
  switch (type) {
    case DType::kQ4_0:
    case DType::kQ5_0:
    case DType::kQ8_0:
    case DType::kIQ4_NL:
      return {0};
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {0, 2};
    case DType::kQ2_K:
      return {80, 82};
    case DType::kQ3_K:
      return {108};
    case DType::kQ6_K:
      return {208};
    default:
      return {};
  }
}

Matrix random_matrix(DType type, std::uint64_t rows, std::uint64_t columns, Dice& dice) {
  Matrix m{type, rows, columns, std::vector<std::byte>(rows * *row_bytes(type, columns))};
  for (std::byte& b : m.bytes) b = static_cast<std::byte>(dice.below(256));
  const std::size_t block = info(type).block_bytes;
  for (std::size_t at = 0; at < m.bytes.size(); at += block) {
    for (const std::size_t offset : half_offsets(type))
      put_half(&m.bytes[at + offset], 0.1F * dice.symmetric());
    const float value = dice.symmetric();
    if (type == DType::kF32) std::memcpy(&m.bytes[at], &value, 4);
    if (type == DType::kF16) put_half(&m.bytes[at], value);
    if (type == DType::kBF16)
      std::memcpy(&m.bytes[at], reinterpret_cast<const char*>(&value) + 2, 2);
  }
  return m;
}

std::vector<float> random_rows(std::uint64_t count, Dice& dice) {
  std::vector<float> x(count);
  for (float& v : x) v = 3.0F * dice.symmetric() * dice.symmetric();
  return x;
}

constexpr float kUntouched = 12345.0F;

/// W x for `rows` rows, with a column of sentinels right of the result.
std::vector<float> product(ThreadPool& pool, const Linear& w, const std::vector<float>& x,
                           std::uint64_t rows) {
  Activations a(rows, w.columns());
  const std::uint64_t stride = w.rows() + 1;
  std::vector<float> out(rows * stride, kUntouched);
  pool.run([&](const ThreadPool::Team& team) {
    const Inputs in = a.of(w.forms(), x.data(), rows, w.columns(), w.columns());
    in.fill(team);
    team.barrier();
    matmul(team, w, in, out.data(), stride);
  });
  for (std::uint64_t r = 0; r < rows; ++r)
    EXPECT_EQ(out[r * stride + w.rows()], kUntouched) << "wrote past the outputs";
  return out;
}

Linear packed(ThreadPool& pool, std::vector<MatrixView> views) {
  auto w = Linear::pack(pool, views);
  EXPECT_TRUE(w.has_value()) << w.error().message;
  EXPECT_EQ(*Linear::packed_bytes(views), w->bytes());
  return *std::move(w);
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

constexpr DType kTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,  DType::kQ4_1,
                            DType::kQ5_0, DType::kQ5_1, DType::kQ8_0, DType::kQ2_K,  DType::kQ3_K,
                            DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL};

class LinearOf : public testing::TestWithParam<DType> {
 protected:
  /// A width of several chunks with a partial one where the type allows it.
  [[nodiscard]] std::uint64_t width() const {
    const auto block = info(GetParam()).block_elements;
    return block == 1 ? 577 : block == 32 ? 352 : 768;
  }
};

TEST_P(LinearOf, TheProductIsThatOfTheDequantisedMatrixWithTheQuantisedActivations) {
  Dice dice(1);
  ThreadPool pool(1);
  const std::uint64_t k = width();
  const Matrix m = random_matrix(GetParam(), 37, k, dice);
  const Linear w = packed(pool, {m.view()});
  const std::vector<float> x = random_rows(5 * k, dice);
  const std::vector<float> out = product(pool, w, x, 5);
  const std::vector<float> values = m.values();
  const Forms forms = w.forms();
  for (std::uint64_t r = 0; r < 5; ++r) {
    for (std::uint64_t n = 0; n < m.rows; ++n) {
      double want = 0.0;
      double magnitude = 0.0;
      for (std::uint64_t i = 0; i < k; ++i) {
        double value = static_cast<double>(x[r * k + i]);
        if (forms.bf16) {  // Nearest, ties to even.
          auto bits = std::bit_cast<std::uint32_t>(x[r * k + i]);
          bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000;
          value = static_cast<double>(std::bit_cast<float>(bits));
        }
        if (forms.int8) {  // The definition in matmul.h, in double.
          float largest = 0.0F;
          for (std::uint64_t j = i / 32 * 32; j < i / 32 * 32 + 32; ++j)
            largest = std::max(largest, std::fabs(x[r * k + j]));
          value = std::nearbyint(x[r * k + i] * (127.0F / largest)) *
                  static_cast<double>(largest / 127.0F);
        }
        want += value * static_cast<double>(values[n * k + i]);
        magnitude += std::fabs(value * static_cast<double>(values[n * k + i]));
      }
      // A chain of k float roundings, each at most 2^-24 of a partial sum; offsets and minima are
      // part of the magnitude of quantised products only up to their own size, hence the factor.
      ASSERT_NEAR(static_cast<double>(out[r * (m.rows + 1) + n]), want, 4e-6 * magnitude + 1e-6)
          << r << ", " << n;
    }
  }
}

TEST_P(LinearOf, EveryTargetGivesTheSameBitsForEveryNumberOfRows) {
  Dice dice(2);
  ThreadPool pool(1);
  const std::uint64_t k = width();
  const Matrix m = random_matrix(GetParam(), 53, k, dice);
  const Linear w = packed(pool, {m.view()});
  constexpr std::uint64_t kRows = 15;
  const std::vector<float> x = random_rows(kRows * k, dice);
  std::vector<float> first;
  on_every_target_and_grade([&] {
    const std::vector<float> whole = product(pool, w, x, kRows);
    if (first.empty()) first = whole;
    EXPECT_TRUE(same_bits(first, whole));
    // Row i of a batch is the row alone, and a batch is its prefix.
    for (std::uint64_t rows = 1; rows < kRows; ++rows) {
      const std::vector<float> part = product(pool, w, x, rows);
      EXPECT_EQ(std::memcmp(part.data(), first.data(), part.size() * sizeof(float)), 0) << rows;
    }
    for (std::uint64_t r = 0; r < kRows; ++r) {
      const std::vector<float> row(x.begin() + static_cast<std::ptrdiff_t>(r * k),
                                   x.begin() + static_cast<std::ptrdiff_t>((r + 1) * k));
      const std::vector<float> alone = product(pool, w, row, 1);
      EXPECT_EQ(
          std::memcmp(alone.data(), first.data() + r * (m.rows + 1), alone.size() * sizeof(float)),
          0)
          << r;
    }
  });
}

TEST_P(LinearOf, TheNumberOfWorkersDoesNotShow) {
  Dice dice(3);
  ThreadPool one(1);
  const std::uint64_t k = width();
  const Matrix m = random_matrix(GetParam(), 200, k, dice);
  const Linear w = packed(one, {m.view()});
  const std::vector<float> x = random_rows(130 * k, dice);
  const std::vector<float> want = product(one, w, x, 130);
  for (const std::size_t workers : {2, 3}) {
    ThreadPool pool(workers);
    const Linear same = packed(pool, {m.view()});
    EXPECT_TRUE(same_bits(product(pool, same, x, 130), want)) << workers;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LinearOf, testing::ValuesIn(kTypes), [](const auto& param) {
  return std::string(weir::info(param.param).name);
});

TEST(Linear, TheExtremeCodesDoNotSaturate) {
  // Largest magnitudes of weights and activations, all of one sign and of alternating sign.
  ThreadPool pool(1);
  for (const DType type : kTypes) {
    if (info(type).block_elements == 1) continue;
    for (const int fill : {0x00, 0x7F, 0x80, 0xFF}) {
      Matrix m{type, 16, 256, {}};
      m.bytes.assign(16 * *row_bytes(type, 256), static_cast<std::byte>(fill));
      for (std::size_t at = 0; at < m.bytes.size(); at += info(type).block_bytes) {
        for (const std::size_t offset : half_offsets(type)) put_half(&m.bytes[at + offset], 1.0F);
      }
      const Linear w = packed(pool, {m.view()});
      const std::vector<float> values = m.values();
      for (const bool alternating : {false, true}) {
        std::vector<float> x(256);
        for (std::size_t i = 0; i < x.size(); ++i)
          x[i] = alternating && i % 2 != 0 ? -127.0F : 127.0F;
        double want = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) want += static_cast<double>(values[i] * x[i]);
        on_every_target_and_grade([&] {
          const std::vector<float> out = product(pool, w, x, 1);
          EXPECT_NEAR(static_cast<double>(out[0]), want, std::fabs(want) * 1e-6 + 1e-3)
              << info(type).name << " " << fill;
        });
      }
    }
  }
}

TEST(Linear, TheQuantisedChainIsTheOneWrittenDown) {
  // matmul.h and panel.h, spelled out for Q4_1: per block an integer, two fmas.
  Dice dice(4);
  ThreadPool pool(1);
  const Matrix m = random_matrix(DType::kQ4_1, 3, 64, dice);
  const Linear w = packed(pool, {m.view()});
  const std::vector<float> x = random_rows(64, dice);
  std::vector<float> want;
  for (std::uint64_t n = 0; n < 3; ++n) {
    float sum = 0.0F;
    for (std::uint64_t b = 0; b < 2; ++b) {
      const auto* block = reinterpret_cast<const std::uint8_t*>(m.bytes.data()) + (2 * n + b) * 20;
      float largest = 0.0F;
      for (int i = 0; i < 32; ++i)
        largest = std::max(largest, std::fabs(x[32 * b + static_cast<std::uint64_t>(i)]));
      const float inverse = 127.0F / largest;
      const float scale = largest / 127.0F;
      int dot = 0;
      int codes = 0;
      for (int i = 0; i < 32; ++i) {
        const int q = i < 16 ? block[4 + i] & 15 : block[4 + i - 16] >> 4;
        const int c =
            static_cast<int>(std::nearbyint(x[32 * b + static_cast<std::uint64_t>(i)] * inverse));
        dot += q * c;
        codes += c;
      }
      const float d = f16_to_f32(static_cast<std::uint16_t>(block[0] | block[1] << 8));
      const float minimum = f16_to_f32(static_cast<std::uint16_t>(block[2] | block[3] << 8));
      sum = std::fma(static_cast<float>(dot), d * scale, sum);
      sum = std::fma(minimum, scale * static_cast<float>(codes), sum);
    }
    want.push_back(sum);
  }
  want.push_back(kUntouched);
  on_every_target_and_grade([&] { EXPECT_TRUE(same_bits(product(pool, w, x, 1), want)); });
}

TEST(Linear, StackedPartsOfDifferentTypesAreTheirProductsSideBySide) {
  Dice dice(5);
  ThreadPool pool(2);
  const Matrix q = random_matrix(DType::kQ4_K, 24, 256, dice);
  const Matrix k = random_matrix(DType::kF16, 7, 256, dice);
  const Matrix v = random_matrix(DType::kQ6_K, 16, 256, dice);
  const Linear stacked = packed(pool, {q.view(), k.view(), v.view()});
  EXPECT_EQ(stacked.rows(), 47U);
  EXPECT_TRUE(stacked.forms().int8);
  const std::vector<float> x = random_rows(256, dice);
  std::vector<float> want;
  for (const Matrix* m : {&q, &k, &v}) {
    std::vector<float> part = product(pool, packed(pool, {m->view()}), x, 1);
    part.pop_back();
    want.insert(want.end(), part.begin(), part.end());
  }
  want.push_back(kUntouched);
  EXPECT_TRUE(same_bits(product(pool, stacked, x, 1), want));
}

TEST(Linear, ANonFiniteActivationSpoilsItsOwnRowOnly) {
  Dice dice(6);
  ThreadPool pool(1);
  const Matrix m = random_matrix(DType::kQ8_0, 16, 64, dice);
  const Linear w = packed(pool, {m.view()});
  std::vector<float> x = random_rows(3 * 64, dice);
  const std::vector<float> clean = product(pool, w, x, 3);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    x[64 + 40] = bad;
    on_every_target_and_grade([&] {
      const std::vector<float> out = product(pool, w, x, 3);
      for (std::size_t n = 0; n < 16; ++n) {
        EXPECT_EQ(out[n], clean[n]);
        EXPECT_TRUE(std::isnan(out[17 + n]));
        EXPECT_EQ(out[34 + n], clean[34 + n]);
      }
    });
  }
}

TEST(Linear, ZeroAndTinyActivationsAreZero) {
  Dice dice(7);
  ThreadPool pool(1);
  const Linear w = packed(pool, {random_matrix(DType::kQ4_0, 16, 32, dice).view()});
  for (const float value : {0.0F, -0.0F, 1e-38F, 1e-31F}) {
    const std::vector<float> out = product(pool, w, std::vector<float>(32, value), 1);
    for (std::size_t n = 0; n < 16; ++n) EXPECT_EQ(out[n], 0.0F);
  }
}

TEST(Linear, AMatrixThatCannotBePackedIsOneClearError) {
  const auto refused = [](MatrixView m) {
    const auto bytes = Linear::packed_bytes(std::span(&m, 1));
    EXPECT_FALSE(bytes.has_value());
    return bytes.has_value() ? std::string() : bytes.error().message;
  };
  EXPECT_EQ(refused({DType::kQ4_K, 4, 32, {}}),
            "a Q4_K matrix of 4 x 32: its rows must be blocks of 256");
  EXPECT_EQ(refused({DType::kI32, 4, 32, {}}), "I32 cannot be a weight matrix");
  EXPECT_EQ(refused({DType::kF32, 1ULL << 62, 1ULL << 62, {}}),
            "a matrix of 4611686018427387904 x 4611686018427387904 has no size");
  std::vector<std::byte> few(10);
  EXPECT_EQ(refused({DType::kF32, 1, 3, few}), "a F32 matrix of 1 x 3 is 12 bytes, not 10");
}

}  // namespace
}  // namespace weir::compute
