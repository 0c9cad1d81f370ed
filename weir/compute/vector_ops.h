#pragma once

/// The element-wise rows of a transformer block. Reductions use a fixed number of partial sums
/// whatever the vector width, so every target gives the same bits as the scalar twin.
/// Thread safety: pure functions over the caller's memory.

#include <cstdint>
#include <span>

#include "weir/compute/buffer.h"
#include "weir/spec/model_shape.h"

namespace weir::compute {

/// out = x / sqrt(mean(x^2) + epsilon) * weight; out may be x. weight may be empty (all ones).
void rms_norm(std::span<const float> x, std::span<const float> weight, float epsilon,
              std::span<float> out);

void add(std::span<const float> x, std::span<float> into);
void scale(float factor, std::span<float> x);
/// x -> cap * tanh(x / cap).
void soft_cap(float cap, std::span<float> x);

/// out[i] = activation(gate[i]) * up[i]; out may be gate.
void gated(Activation activation, std::span<const float> gate, std::span<const float> up,
           std::span<float> out);

/// cos and sin of one position: [dims / 2] each. Table of every position, built at load.
class RopeTable {
 public:
  /// `local`: the table of sliding-window layers (local_theta).
  RopeTable(const RopeShape& shape, std::uint32_t positions, bool local);
  [[nodiscard]] const float* cosines(std::uint32_t position) const;
  [[nodiscard]] const float* sines(std::uint32_t position) const;
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  std::uint32_t half_;
  AlignedBuffer<float> table_;  ///< [positions, 2, half]
};

/// Rotates each of `heads` heads of head_dim in place.
void rope(const RopeShape& shape, const float* cosines, const float* sines, std::uint32_t heads,
          std::uint32_t head_dim, float* x);

/// log(sum(exp(x))) with the maximum taken out.
[[nodiscard]] double log_sum_exp(std::span<const float> x);
/// Index of the largest; the lowest index wins a tie. -1 when any value is NaN.
[[nodiscard]] std::int64_t argmax(std::span<const float> x);

}  // namespace weir::compute
