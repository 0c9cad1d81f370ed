#include "weir/compute/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace weir::compute {
namespace {

/// Equal bits, or NaN on both sides: which NaN an invalid scale gives is the platform's affair.
bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

struct Golden {
  std::vector<std::byte> blocks;
  std::vector<float> values;
};

/// Written by tools/make_dequantize_goldens with the `gguf` Python package.
Golden read_golden(std::string_view name) {
  const std::string path = "tests/data/dequantize/" + std::string(name) + ".bin";
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::uint32_t elements = 0;
  std::uint32_t block_bytes = 0;
  if (bytes.size() < 8) return {};
  std::memcpy(&elements, bytes.data(), 4);
  std::memcpy(&block_bytes, bytes.data() + 4, 4);
  if (bytes.size() != 8 + block_bytes + std::size_t{4} * elements) return {};
  Golden golden{std::vector<std::byte>(block_bytes), std::vector<float>(elements)};
  std::memcpy(golden.blocks.data(), bytes.data() + 8, block_bytes);
  std::memcpy(golden.values.data(), bytes.data() + 8 + block_bytes, std::size_t{4} * elements);
  return golden;
}

class DequantizeEveryType : public ::testing::TestWithParam<DType> {};

TEST_P(DequantizeEveryType, EqualsTheGgufPackageBitForBit) {
  const Golden golden = read_golden(info(GetParam()).name);
  ASSERT_FALSE(golden.values.empty()) << "tests are run from the source root";
  std::vector<float> out(golden.values.size());
  dequantize(GetParam(), golden.blocks, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_TRUE(same(out[i], golden.values[i]))
        << i << ": " << out[i] << " is not " << golden.values[i];
  }
}

std::vector<DType> weight_types() {
  std::vector<DType> types;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (info(static_cast<DType>(i)).weight) types.push_back(static_cast<DType>(i));
  }
  return types;
}

INSTANTIATE_TEST_SUITE_P(, DequantizeEveryType, ::testing::ValuesIn(weight_types()),
                         [](const auto& test) { return std::string(weir::info(test.param).name); });

/// The definition of IEEE half, by arithmetic: no bits moved.
float half_by_definition(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const int fraction = bits & 0x3FF;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0x1F) {
    return fraction == 0 ? sign * std::numeric_limits<float>::infinity()
                         : std::numeric_limits<float>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

TEST(HalfFloat, AllPatternsConvertExactly) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    ASSERT_TRUE(same(f16_to_f32(half), half_by_definition(half))) << bits;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(bf16_to_f32(half)), bits << 16);
  }
}

TEST(Dequantize, AnEmptyRowIsNothing) { dequantize(DType::kQ4_K, {}, {}); }

}  // namespace
}  // namespace weir::compute
