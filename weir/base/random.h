#pragma once

/// Counter-based randomness: a pure function of (key, counter), so a draw depends on nothing drawn
/// before it. Sampling keys it by (seed, position), which makes an answer independent of the batch
/// it ran in. Philox 4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC
/// 2011). Thread safety: pure functions.

#include <array>
#include <cstdint>

namespace weir {

[[nodiscard]] constexpr std::array<std::uint32_t, 4> philox(std::uint64_t key,
                                                            std::uint64_t counter,
                                                            std::uint64_t stream = 0) {
  std::array<std::uint32_t, 4> c = {
      static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
      static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;  // The golden ratio and sqrt(3) - 1, the paper's Weyl constants.
    k1 += 0xBB67AE85;
  }
  return c;
}

/// Uniform in [0, 1) with 53 bits.
[[nodiscard]] constexpr double uniform(std::uint64_t key, std::uint64_t counter,
                                       std::uint64_t stream = 0) {
  const auto r = philox(key, counter, stream);
  const std::uint64_t bits = (std::uint64_t{r[0]} << 32 | r[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace weir
