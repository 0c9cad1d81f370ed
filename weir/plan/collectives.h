#pragma once

/// What it costs to move bytes between devices, by the alpha-beta model: alpha is the time of an
/// empty message, beta the bandwidth (Hockney 1994; Thakur, Rabenseifner and Gropp 2005, section
/// 3). Ring all-reduce: 2 (N-1) alpha + 2 (N-1)/N M / beta. Thread safety: pure functions.

#include "weir/plan/registry.h"
#include "weir/plan/units.h"

namespace weir::plan {

[[nodiscard]] inline Seconds point_to_point(Bytes message, const Link& link) {
  return link.latency + message / link.bandwidth;
}
[[nodiscard]] inline Seconds all_reduce(double devices, Bytes message, const Link& link) {
  return link.latency * (2 * (devices - 1)) +
         message / link.bandwidth * (2 * (devices - 1) / devices);
}
/// `message` is what one device holds for all the others together.
[[nodiscard]] inline Seconds all_to_all(double devices, Bytes message, const Link& link) {
  return (link.latency + message / devices / link.bandwidth) * (devices - 1);
}

}  // namespace weir::plan
