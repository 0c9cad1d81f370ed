#pragma once

/// Max-min fair shares of one scarce thing: nobody's share can grow without shrinking a smaller
/// one. Filled like water: everybody rises together, by weight, until satisfied or the capacity is
/// gone (Bertsekas and Gallager, Data Networks, section 6.5.2). Demands 30k/20k/80k on 100k give
/// 30k/20k/50k. Input and output tokens are two things, shared apart.
/// Thread safety: pure functions.

#include <span>
#include <vector>

namespace weir::policy {

struct Demand {
  double wanted = 0;
  double weight = 1;
};

/// One share for each demand, in order: at most what is wanted, in all at most `capacity`, and all
/// of it when the demands reach it. REQUIRES: capacity >= 0, every wanted >= 0, every weight > 0,
/// all finite.
[[nodiscard]] std::vector<double> max_min_shares(double capacity, std::span<const Demand> demands);

}  // namespace weir::policy
