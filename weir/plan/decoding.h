#pragma once

/// Speculative decoding (Leviathan, Kalman and Matias 2023): a draft proposes K tokens, the target
/// checks them in one pass. With acceptance alpha, E[tokens a round] = (1 - alpha^(K+1)) / (1 -
/// alpha) (their equation 1), and the speed-up over one token a pass is that over 1 + K c, c being
/// the draft's cost of one token over the target's (theorem 3.8). Where the target is compute-bound
/// its pass grows with K + 1 rows; `pass_growth` is that factor. Thread safety: pure functions.

namespace weir::plan {

[[nodiscard]] double tokens_per_round(double alpha, double proposed);
[[nodiscard]] double speculation_speedup(double alpha, double proposed, double draft_cost,
                                         double pass_growth = 1);
/// The K from 1 to `most` with the largest speed-up; 0 when none is over 1.
[[nodiscard]] double best_proposal(double alpha, double draft_cost, double most);
/// The least alpha at which K proposals pay; 1 when none does.
[[nodiscard]] double break_even_acceptance(double proposed, double draft_cost,
                                           double pass_growth = 1);

}  // namespace weir::plan
