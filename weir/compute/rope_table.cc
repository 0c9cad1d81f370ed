#include <cmath>

#include "weir/base/check.h"
#include "weir/compute/vector_ops.h"

namespace weir::compute {

// Angles in double: a float angle is off by 1e-4 at position 2000, and the table is built once.
RopeTable::RopeTable(const RopeShape& shape, std::uint32_t positions, bool local)
    : half_(shape.dims / 2), table_(std::size_t{positions} * shape.dims) {
  WEIR_CHECK(shape.dims % 2 == 0, "RoPE rotates pairs");
  WEIR_CHECK(shape.frequency_divisors.empty() || shape.frequency_divisors.size() == half_,
             "a divisor for each pair");
  const double theta = static_cast<double>(local ? shape.local_theta : shape.theta);
  const bool scaled = !local || shape.scale_local_layers;
  const double position_scale = scaled ? static_cast<double>(shape.position_scale) : 1.0;
  const auto magnitude = static_cast<double>(shape.magnitude);
  for (std::uint32_t i = 0; i < half_; ++i) {
    double frequency = std::pow(theta, -2.0 * i / shape.dims);
    if (!shape.frequency_divisors.empty())
      frequency /= static_cast<double>(shape.frequency_divisors[i]);
    for (std::uint32_t p = 0; p < positions; ++p) {
      const double angle = p * position_scale * frequency;
      float* row = table_.data() + std::size_t{p} * 2 * half_;
      row[i] = static_cast<float>(std::cos(angle) * magnitude);
      row[half_ + i] = static_cast<float>(std::sin(angle) * magnitude);
    }
  }
}

const float* RopeTable::cosines(std::uint32_t position) const {
  return table_.data() + std::size_t{position} * 2 * half_;
}
const float* RopeTable::sines(std::uint32_t position) const { return cosines(position) + half_; }
std::uint64_t RopeTable::bytes() const { return table_.bytes(); }

}  // namespace weir::compute
