#pragma once

/// When to change the number of replicas: up at once, down late. Adding too late loses requests,
/// removing too early pays a cold start, so the two directions have different rules. Up: as soon as
/// the demand (plus reserve) asks for more. Down: only to the highest demand seen in the whole low
/// window, and never by more than a fraction at a time. A dip inside a busy hour removes nothing.
/// Thread safety: none; one owner. Time comes in as a parameter.

#include <cstdint>
#include <deque>

#include "weir/spec/time.h"

namespace weir::policy {

struct HysteresisOptions {
  std::uint32_t least = 1;
  std::uint32_t most = 1'000'000;
  std::uint32_t reserve = 1;                        ///< N+1: one may fail.
  Duration low_window = std::chrono::seconds(300);  ///< How long demand must stay low.
  double most_down = 0.25;  ///< Fraction removed at one decision; at least one.
};

enum class ScaleReason : std::uint8_t {
  kEnough,     ///< What there is fits.
  kUp,         ///< Demand and reserve ask for more.
  kWaiting,    ///< Demand is lower, but not for long enough.
  kDown,       ///< It has been lower for the whole window.
  kAtTheMost,  ///< More is wanted than may be.
};

struct ScaleDecision {
  std::uint32_t replicas = 0;
  ScaleReason reason = ScaleReason::kEnough;
};

class Hysteresis {
 public:
  /// REQUIRES: least <= most, 0 < most_down <= 1.
  explicit Hysteresis(const HysteresisOptions& options);

  /// `demand` is the replicas that the largest of all signals asks for, without reserve.
  [[nodiscard]] ScaleDecision decide(std::uint32_t current, std::uint32_t demand, Instant now);

 private:
  struct Sample {
    Instant at;
    std::uint32_t wanted;
  };
  HysteresisOptions options_;
  std::deque<Sample> maxima_;  ///< Of the window, falling: the front is its maximum.
  Instant first_{};
  bool started_ = false;
};

/// What a reactive autoscaler asks for: ceil(current * observed / target), the rule of Kubernetes'
/// HorizontalPodAutoscaler. REQUIRES: observed >= 0 and target > 0, finite.
[[nodiscard]] std::uint32_t proportional_replicas(std::uint32_t current, double observed,
                                                  double target);

}  // namespace weir::policy
