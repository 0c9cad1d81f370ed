#include "weir/model/logit_scan.h"

#include <algorithm>
#include <bit>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/model/logit_scan.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef WEIR_LOGIT_SCAN_ONCE
#define WEIR_LOGIT_SCAN_ONCE
namespace weir::model {
namespace {

// exp on [-87.3, 0]: x = n ln 2 + r with |r| <= ln 2 / 2, then a polynomial in r scaled by 2^n.
// Constants of Cephes expf (S. Moshier), public domain. Multiplications and additions stay apart
// (no fma), so that targets without fma give the same bits.
constexpr float kLowest = -87.33654F;  // ln of the smallest normal float.
constexpr float kLog2E = 1.44269504088896341F;
constexpr float kRound =
    12582912.0F;  // 1.5 * 2^23: adding and subtracting it rounds to an integer.
constexpr float kLn2High = 0.693359375F;
constexpr float kLn2Low = -2.12194440e-4F;
constexpr float kPoly[6] = {1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F,
                            4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F};

constexpr std::size_t kSums = 32;

}  // namespace
}  // namespace weir::model
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::model::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kSums>;

template <class V>
HWY_INLINE V exp_of_clamped(D d, V x) {
  const auto n =
      hn::Sub(hn::Add(hn::Mul(x, hn::Set(d, kLog2E)), hn::Set(d, kRound)), hn::Set(d, kRound));
  const auto r =
      hn::Sub(hn::Sub(x, hn::Mul(n, hn::Set(d, kLn2High))), hn::Mul(n, hn::Set(d, kLn2Low)));
  auto p = hn::Set(d, kPoly[0]);
  for (std::size_t i = 1; i < 6; ++i) p = hn::Add(hn::Mul(p, r), hn::Set(d, kPoly[i]));
  p = hn::Add(hn::Add(hn::Mul(p, hn::Mul(r, r)), r), hn::Set(d, 1.0F));
  const hn::RebindToSigned<D> di;
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127)));
  return hn::Mul(p, hn::BitCast(d, exponent));
}

LogitMaximum ScanMaximum(const float* HWY_RESTRICT logits, std::size_t size) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  auto best = hn::Set(d, -std::numeric_limits<float>::infinity());
  auto best2 = best;
  auto ordered = hn::Eq(best, best);
  std::size_t i = 0;
  for (; i + 2 * lanes <= size; i += 2 * lanes) {
    const auto a = hn::LoadU(d, logits + i);
    const auto b = hn::LoadU(d, logits + i + lanes);
    best = hn::Max(best, a);
    best2 = hn::Max(best2, b);
    ordered = hn::And(ordered, hn::And(hn::Eq(a, a), hn::Eq(b, b)));
  }
  float maximum = hn::GetLane(hn::MaxOfLanes(d, hn::Max(best, best2)));
  bool has_nan = !hn::AllTrue(d, ordered);
  for (; i < size; ++i) {
    has_nan |= logits[i] != logits[i];
    maximum = std::max(maximum, logits[i]);
  }
  return {maximum, has_nan};
}

void FindPeaks(const float* HWY_RESTRICT logits, std::size_t size, float* HWY_RESTRICT peaks) {
  for (std::size_t i = 0; i < size; i += kPeakBlock) {
    const LogitMaximum of_block = ScanMaximum(logits + i, std::min(kPeakBlock, size - i));
    *peaks++ = of_block.has_nan ? std::numeric_limits<float>::quiet_NaN() : of_block.value;
  }
}

std::size_t FindFirst(const float* HWY_RESTRICT logits, std::size_t size, float value) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto wanted = hn::Set(d, value);
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto hit = hn::FindFirstTrue(d, hn::Eq(hn::LoadU(d, logits + i), wanted));
    if (hit >= 0) return i + static_cast<std::size_t>(hit);
  }
  for (; i < size && logits[i] != value; ++i) {
  }
  return i;
}

/// One block of at most kScanBlock logits; what is missing to a multiple of kSums counts as
/// -infinity.
template <bool kMoment>
HWY_INLINE double SumBlock(const float* HWY_RESTRICT logits, std::size_t size, float max,
                           float inverse, double& moment) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float sums[kSums] = {};
  HWY_ALIGN float moments[kSums] = {};
  HWY_ALIGN float padded[kSums];
  const auto vmax = hn::Set(d, max);
  const auto vinverse = hn::Set(d, inverse);
  const auto lowest = hn::Set(d, kLowest);
  for (std::size_t i = 0; i < size; i += kSums) {
    const float* from = logits + i;
    if (size - i < kSums) {
      std::fill(std::copy(from, logits + size, padded), padded + kSums,
                -std::numeric_limits<float>::infinity());
      from = padded;
    }
    for (std::size_t j = 0; j < kSums; j += lanes) {
      const auto x = hn::Mul(hn::Sub(hn::LoadU(d, from + j), vmax), vinverse);
      const auto clamped = hn::Max(x, lowest);
      const auto w = hn::IfThenElseZero(hn::Ge(x, lowest), exp_of_clamped(d, clamped));
      hn::Store(hn::Add(hn::Load(d, sums + j), w), d, sums + j);
      if constexpr (kMoment) {
        hn::Store(hn::Add(hn::Load(d, moments + j), hn::Mul(w, clamped)), d, moments + j);
      }
    }
  }
  double sum = 0;
  for (float s : sums) sum += s;
  if constexpr (kMoment) {
    for (float m : moments) moment += m;
  }
  return sum;
}

void SumWeights(const float* HWY_RESTRICT logits, std::size_t size, float max, float inverse,
                double* sums) {
  double unused = 0;
  for (std::size_t i = 0; i < size; i += kScanBlock) {
    *sums++ = SumBlock<false>(logits + i, std::min(kScanBlock, size - i), max, inverse, unused);
  }
}

double SumWeightsAndMoment(const float* HWY_RESTRICT logits, std::size_t size, float max,
                           float inverse, double* sums) {
  double moment = 0;
  for (std::size_t i = 0; i < size; i += kScanBlock) {
    *sums++ = SumBlock<true>(logits + i, std::min(kScanBlock, size - i), max, inverse, moment);
  }
  return moment;
}

std::size_t Collect(const float* HWY_RESTRICT logits, std::size_t size, float low, float high,
                    TokenId first, Candidate* HWY_RESTRICT out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto vlow = hn::Set(d, low);
  const auto vhigh = hn::Set(d, high);
  Candidate* const begin = out;
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto v = hn::LoadU(d, logits + i);
    const auto inside = hn::And(hn::Ge(v, vlow), hn::Le(v, vhigh));
    if (hn::AllFalse(d, inside)) continue;
    std::uint8_t bits[8] = {};  // StoreMaskBits may write 8 bytes.
    hn::StoreMaskBits(d, inside, bits);
    std::uint32_t mask = bits[0] | std::uint32_t{bits[1]} << 8 | std::uint32_t{bits[2]} << 16 |
                         std::uint32_t{bits[3]} << 24;
    for (; mask != 0; mask &= mask - 1) {
      const std::size_t at = i + static_cast<std::size_t>(std::countr_zero(mask));
      out->x = logits[at];
      out->token = first + static_cast<TokenId>(at);
      ++out;
    }
  }
  for (; i < size; ++i) {
    if (logits[i] < low || logits[i] > high) continue;
    out->x = logits[i];
    out->token = first + static_cast<TokenId>(i);
    ++out;
  }
  return static_cast<std::size_t>(out - begin);
}

}  // namespace weir::model::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::model {

HWY_EXPORT(ScanMaximum);
HWY_EXPORT(FindPeaks);
HWY_EXPORT(FindFirst);
HWY_EXPORT(SumWeights);
HWY_EXPORT(SumWeightsAndMoment);
HWY_EXPORT(Collect);

LogitMaximum scan_maximum(std::span<const float> logits) {
  return HWY_DYNAMIC_DISPATCH(ScanMaximum)(logits.data(), logits.size());
}

void find_peaks(std::span<const float> logits, std::span<float> peaks) {
  HWY_DYNAMIC_DISPATCH(FindPeaks)(logits.data(), logits.size(), peaks.data());
}

std::size_t find_first(std::span<const float> logits, float value) {
  return HWY_DYNAMIC_DISPATCH(FindFirst)(logits.data(), logits.size(), value);
}

void sum_weights(std::span<const float> logits, float max, float inverse_temperature,
                 std::span<double> sums) {
  HWY_DYNAMIC_DISPATCH(SumWeights)(logits.data(), logits.size(), max, inverse_temperature,
                                   sums.data());
}

double sum_weights_and_moment(std::span<const float> logits, float max, float inverse_temperature,
                              std::span<double> sums) {
  return HWY_DYNAMIC_DISPATCH(SumWeightsAndMoment)(logits.data(), logits.size(), max,
                                                   inverse_temperature, sums.data());
}

std::size_t collect(std::span<const float> logits, float low, float high, TokenId first,
                    Candidate* out) {
  return HWY_DYNAMIC_DISPATCH(Collect)(logits.data(), logits.size(), low, high, first, out);
}

float weight_of(float x) {
  if (!(x >= kLowest)) return 0.0F;
  const float n = (x * kLog2E + kRound) - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = kPoly[0];
  for (std::size_t i = 1; i < 6; ++i) p = p * r + kPoly[i];
  p = (p * (r * r) + r) + 1.0F;
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23;
  return p * std::bit_cast<float>(exponent);
}

}  // namespace weir::model
#endif
