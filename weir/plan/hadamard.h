#pragma once

/// The orthonormal Walsh-Hadamard transform that QuaRot (Ashkboos et al. 2024) rotates activations
/// by: one outlier of a vector becomes many ordinary values, and the rotation undoes itself. Thread
/// safety: pure functions.

#include <cmath>
#include <cstddef>
#include <vector>

namespace weir::plan {

/// REQUIRES: values.size() is a power of two.
[[nodiscard]] inline std::vector<double> hadamard(std::vector<double> values) {
  for (std::size_t half = 1; half < values.size(); half *= 2) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if ((i & half) != 0) continue;
      const double a = values[i];
      const double b = values[i + half];
      values[i] = a + b;
      values[i + half] = a - b;
    }
  }
  const double norm = std::sqrt(static_cast<double>(values.size()));
  for (double& v : values) v /= norm;
  return values;
}

}  // namespace weir::plan
