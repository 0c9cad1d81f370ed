#include <cmath>
#include <cstring>
#include <limits>

#include "weir/compute/matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/quantise.cc"
#include <hwy/foreach_target.h>

#include "weir/compute/dots-inl.h"

HWY_BEFORE_NAMESPACE();
WEIR_BEFORE_VNNI
namespace weir::compute {
namespace HWY_NAMESPACE {

/// Adding 1.5 x 2^23 leaves the nearest integer (ties to even) in the low mantissa bits.
inline constexpr float kRounder = 12582912.0F;

void QuantiseBlocks(const float* x, std::uint64_t blocks, std::int8_t* codes, float* scales,
                    float* scaled_sums, std::int32_t* code_sums) {
  const F32x16 infinity = set(std::numeric_limits<float>::infinity());
  for (std::uint64_t b = 0; b < blocks; ++b, x += 32, codes += 32, code_sums += 2) {
    const F32x16 v[2] = {load(x), load(x + kLanes)};
    const F32x16 a[2] = {abs(v[0]), abs(v[1])};
    // Not below infinity means infinite or NaN: both become infinite here, so that the largest
    // shows it.
    const float largest = largest_lane(max(select_less(a[0], infinity, a[0], infinity),
                                           select_less(a[1], infinity, a[1], infinity)));
    if (!(largest >= 0x1p-100F) || std::isinf(largest)) {
      std::memset(codes, 0, 32);
      scales[b] = std::isinf(largest) ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
      scaled_sums[b] = scales[b];
      code_sums[0] = code_sums[1] = 0;
      continue;
    }
    const F32x16 inverse = set(127.0F / largest);
    const I32x16 bias = bits_of(set(kRounder));
    store_codes(sub(bits_of(add(mul(v[0], inverse), set(kRounder))), bias),
                sub(bits_of(add(mul(v[1], inverse), set(kRounder))), bias), codes, code_sums);
    scales[b] = largest / 127.0F;
    scaled_sums[b] = scales[b] * static_cast<float>(code_sums[0] + code_sums[1]);
  }
}

void RoundToBf16(const float* x, std::uint64_t count, std::uint16_t* out) {
  const F32x16 infinity = set(std::numeric_limits<float>::infinity());
  const F32x16 nan = set(std::numeric_limits<float>::quiet_NaN());
  const auto rounded = [&](const F32x16& v) {
    const I32x16 bits = bits_of(select_less(abs(v), infinity, v, nan));
    const I32x16 odd = bit_and(shift_right<16>(bits), set(1));
    return bit_and(shift_right<16>(add(bits, add(odd, set(0x7FFF)))), set(0xFFFF));
  };
  std::uint64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store_u16(rounded(load(x + i)), out + i);
  if (i == count) return;
  alignas(64) float last[kLanes] = {};
  alignas(64) std::uint16_t last_out[kLanes];
  std::memcpy(last, x + i, (count - i) * sizeof(float));
  store_u16(rounded(load(last)), last_out);
  std::memcpy(out + i, last_out, (count - i) * sizeof(std::uint16_t));
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compute {
HWY_EXPORT(QuantiseBlocks);
HWY_EXPORT(RoundToBf16);
void round_to_bf16(const float* x, std::uint64_t count, std::uint16_t* out) {
  HWY_DYNAMIC_DISPATCH(RoundToBf16)(x, count, out);
}
void quantise_blocks(const float* x, std::uint64_t blocks, std::int8_t* codes, float* scales,
                     float* scaled_sums, std::int32_t* code_sums) {
  HWY_DYNAMIC_DISPATCH(QuantiseBlocks)(x, blocks, codes, scales, scaled_sums, code_sums);
}
}  // namespace weir::compute
#endif
