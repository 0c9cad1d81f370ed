#pragma once

/// Draws from distributions, each a pure function of (seed, stream, index): adding a request to a
/// workload changes no other. Thread safety: pure functions.

#include <cstdint>

namespace weir::measure {

/// What a draw is for; draws of different streams are independent.
enum class Stream : std::uint8_t { kArrival, kInput, kOutput, kTenant, kLeave, kThink, kWords };

class Draw {
 public:
  Draw(std::uint64_t seed, Stream stream, std::uint64_t index)
      : seed_(seed), index_(index), stream_(static_cast<std::uint64_t>(stream)) {}

  [[nodiscard]] double uniform();      ///< In (0, 1).
  [[nodiscard]] double normal();       ///< Mean 0, deviation 1 (Box and Muller).
  [[nodiscard]] double exponential();  ///< Mean 1.
  /// Mean 1 and variance 1 / shape (Marsaglia and Tsang, "A simple method for generating gamma
  /// variables", 2000; below shape 1 by their section 6). REQUIRES: shape > 0.
  [[nodiscard]] double gamma(double shape);

 private:
  std::uint64_t seed_;
  std::uint64_t index_;
  std::uint64_t stream_;
  std::uint64_t drawn_ = 0;
};

}  // namespace weir::measure
