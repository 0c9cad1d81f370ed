#include "weir/compute/memory_loops.h"

#include "weir/base/check.h"
#include "weir/compute/buffer.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/memory_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
//
#include <hwy/cache_control.h>

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Four lines at a time: enough loads in flight for one core, and one stream, which the hardware's
/// prefetcher follows. Software prefetching and several streams were tried: within the noise from
/// memory, slower from L3.
std::uint64_t ReadAll(const std::uint64_t* p, std::size_t words) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t line = kAlignment / sizeof(std::uint64_t);
  auto sum0 = hn::Zero(d);
  auto sum1 = sum0;
  auto sum2 = sum0;
  auto sum3 = sum0;
  std::size_t i = 0;
  for (; i + 4 * line <= words; i += 4 * line) {
    for (std::size_t k = 0; k < line; k += lanes) {
      sum0 = hn::Xor(sum0, hn::Load(d, p + i + k));
      sum1 = hn::Xor(sum1, hn::Load(d, p + i + line + k));
      sum2 = hn::Xor(sum2, hn::Load(d, p + i + 2 * line + k));
      sum3 = hn::Xor(sum3, hn::Load(d, p + i + 3 * line + k));
    }
  }
  for (; i < words; i += lanes) sum0 = hn::Xor(sum0, hn::Load(d, p + i));
  alignas(64) std::uint64_t each[8];
  hn::Store(hn::Xor(hn::Xor(sum0, sum1), hn::Xor(sum2, sum3)), d, each);
  std::uint64_t all = 0;
  for (std::size_t k = 0; k < lanes; ++k) all ^= each[k];
  return all;
}

void Triad(double* a, const double* b, const double* c, std::size_t count) {
  const hn::ScalableTag<double> d;
  const auto three = hn::Set(d, 3.0);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::Stream(hn::MulAdd(three, hn::Load(d, c + i), hn::Load(d, b + i)), d, a + i);
  }
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compute {

HWY_EXPORT(ReadAll);
HWY_EXPORT(Triad);

std::uint64_t read_all(std::span<const std::byte> bytes) {
  WEIR_CHECK(bytes.size() % kAlignment == 0, "memory to read is whole cache lines");
  return HWY_DYNAMIC_DISPATCH(ReadAll)(reinterpret_cast<const std::uint64_t*>(bytes.data()),
                                       bytes.size() / sizeof(std::uint64_t));
}

void triad(std::span<double> a, std::span<const double> b, std::span<const double> c) {
  WEIR_CHECK(
      a.size() == b.size() && b.size() == c.size() && a.size() % (kAlignment / sizeof(double)) == 0,
      "a triad's vectors are equal and whole cache lines");
  HWY_DYNAMIC_DISPATCH(Triad)(a.data(), b.data(), c.data(), a.size());
}

}  // namespace weir::compute
#endif
