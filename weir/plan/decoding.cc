#include "weir/plan/decoding.h"

#include <cmath>

namespace weir::plan {

double tokens_per_round(double alpha, double proposed) {
  if (alpha >= 1) return proposed + 1;
  return (1 - std::pow(alpha, proposed + 1)) / (1 - alpha);
}

double speculation_speedup(double alpha, double proposed, double draft_cost, double pass_growth) {
  return tokens_per_round(alpha, proposed) / (pass_growth + proposed * draft_cost);
}

double best_proposal(double alpha, double draft_cost, double most) {
  double best = 0;
  double best_speedup = 1;
  for (double k = 1; k <= most; ++k) {
    const double speedup = speculation_speedup(alpha, k, draft_cost);
    if (speedup > best_speedup) {
      best_speedup = speedup;
      best = k;
    }
  }
  return best;
}

double break_even_acceptance(double proposed, double draft_cost, double pass_growth) {
  double low = 0;
  double high = 1;
  if (speculation_speedup(high, proposed, draft_cost, pass_growth) <= 1) return 1;
  for (int i = 0; i < 60; ++i) {  // The speed-up grows with alpha.
    const double middle = (low + high) / 2;
    (speculation_speedup(middle, proposed, draft_cost, pass_growth) > 1 ? high : low) = middle;
  }
  return high;
}

}  // namespace weir::plan
