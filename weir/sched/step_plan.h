#pragma once

/// What one step does, and why: the scheduler's decision as a value. The engine (or the simulator)
/// carries out the copies, then the rows, and answers with step_done().
/// Thread safety: a value.

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/kv/ledger.h"
#include "weir/policy/step_cost.h"
#include "weir/policy/victim.h"
#include "weir/sched/request.h"

namespace weir::sched {

/// `count` positions of one sequence from `first`. Its tokens are Scheduler::tokens(id).
struct StepRow {
  SequenceId id;
  std::uint32_t first;
  std::uint32_t count;
  bool decode;        ///< One row of an answer; otherwise prefill.
  bool wants_logits;  ///< Of its last position: a token is sampled from them.
};

struct Admitted {
  SequenceId id;
  std::uint32_t cached_tokens;  ///< Found in the prefix cache: no prefill for them.
  Duration waited;
  bool resumed;  ///< Was pre-empted before.
};

enum class PreemptionReason : std::uint8_t {
  kMemory,    ///< A running answer of higher rank, or older, found no page.
  kPriority,  ///< A waiting request of a higher class found no room.
};

struct Preempted {
  SequenceId id;
  policy::PreemptionWay way;
  PreemptionReason why;
  std::uint32_t lost_tokens;  ///< Computed positions that may have to be computed again.
  SequenceId for_whom;        ///< Whose need of pages caused it.
};

struct Ended {
  SequenceId id;
  End how;
  std::uint32_t wasted_tokens;  ///< Answer tokens computed for somebody who did not stay.
};

/// Why nothing (more) was admitted in this step: what the next in order met.
enum class Held : std::uint8_t {
  kNothing,    ///< Nobody waits.
  kBudget,     ///< The step's token budget is spent.
  kPages,      ///< The next in order does not fit the free pages.
  kSequences,  ///< max_running, or max_logit_rows, sequences run.
  kLeader,     ///< Only answers that wait for their leader's prefill.
  kReserved,   ///< What is free is kept for a higher class.
  kGroup,      ///< As many as may of those expected to be about as long run.
};

struct StepPlan {
  std::vector<StepRow> rows;  ///< Decode rows first, then prefill in order of admission.
  std::vector<kv::PageCopy> copies;
  std::vector<Admitted> admitted;
  std::vector<Preempted> preempted;
  std::vector<Ended> ended;
  policy::StepWork work;
  std::uint32_t decode_rows = 0;
  std::uint32_t prefill_rows = 0;
  std::uint32_t budget = 0;  ///< Rows that the target allowed.
  Held held = Held::kNothing;

  /// As new, with the capacity it had.
  void clear();

  /// Nothing to carry out: the driver sleeps until an event or next_deadline().
  [[nodiscard]] bool empty() const { return rows.empty() && copies.empty(); }
};

/// What came of a row that wanted logits.
struct RowResult {
  SequenceId id;
  std::optional<TokenId> token;  ///< The next of the answer. None: what was chosen only ends it.
  std::optional<End> end;        ///< Required when there is no token.
};

}  // namespace weir::sched
