#include "weir/measure/random_draw.h"

#include <cmath>
#include <numbers>

#include "weir/base/check.h"
#include "weir/base/random.h"

namespace weir::measure {

double Draw::uniform() {
  // The low bits of philox's stream name the purpose, the rest the ordinal of the draw.
  const double u = weir::uniform(seed_, index_, stream_ | drawn_++ << 8);
  return u > 0 ? u : 0x1p-54;
}

double Draw::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

double Draw::exponential() { return -std::log(uniform()); }

double Draw::gamma(double shape) {
  WEIR_CHECK(shape > 0, "a gamma distribution has a positive shape");
  if (shape == 1) return exponential();
  const double boosted = shape < 1 ? shape + 1 : shape;
  const double d = boosted - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  double value = 0;
  while (true) {
    const double x = normal();
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      value = d * v;
      break;
    }
  }
  if (shape < 1) value *= std::pow(uniform(), 1 / shape);
  return value / shape;
}

}  // namespace weir::measure
