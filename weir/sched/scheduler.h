#pragma once

/// Continuous batching as a pure state machine (Orca, Yu et al. 2022, with chunked prefill,
/// Sarathi-Serve, Agrawal et al. 2024). Events go in — arrived, cancelled, step done — with the
/// time they happened; a StepPlan comes out. The engine drives it with a model and a clock, the
/// simulator with policy::StepCost and virtual time; both run this very code.
///
/// In every plan: decode rows first, one for each running answer; then prefill chunks in order of
/// admission under the step's token budget, B_dec + sum C_k <= T_budget; then admission while
/// budget, pages and sequences last. When a running answer finds no page, the cheapest victim is
/// pre-empted. Who is next in order and does not fit holds up the others, save those who wait for
/// nothing it could have: of another length group, or of a higher class within its reserve.
///
/// Books, always: accepted = waiting + running + finished + cancelled + failed + past their
/// deadline; units of KV: free + held + cached = total; tokens computed = those useful + those
/// lost. check() proves it. Thread safety: none; one owner.

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "weir/policy/fair_share.h"
#include "weir/policy/length_estimate.h"
#include "weir/policy/reserve.h"
#include "weir/policy/step_cost.h"
#include "weir/sched/options.h"
#include "weir/sched/request.h"
#include "weir/sched/step_plan.h"

namespace weir::sched {

struct Counts {
  std::uint64_t accepted = 0, refused = 0;
  std::uint64_t finished = 0, cancelled = 0, failed = 0, deadline = 0;
  std::uint64_t memory_preemptions = 0, priority_preemptions = 0;
  std::uint64_t prompt_rows = 0;      ///< Prefill rows computed for the first time,
  std::uint64_t recomputed_rows = 0;  ///< and again, after a pre-emption.
  std::uint64_t decode_rows = 0;
  std::uint64_t answer_tokens = 0;  ///< Sampled.
  std::uint64_t wasted_tokens =
      0;  ///< Of those, for requests that were cancelled, failed or too late.
};

class Scheduler {
 public:
  Scheduler(const Options& options, const policy::StepCost& cost);

  // Events.
  [[nodiscard]] std::expected<void, Refusal> arrived(Request request, Instant now);
  /// Takes effect in the next plan; unknown or ended ids are ignored.
  void cancel(SequenceId id);
  /// Whoever reads the answer has enough after `useful` tokens of it (a stop string was met). Ends
  /// as finished in the next plan; tokens beyond are wasted.
  void stop(SequenceId id, std::uint32_t useful);
  /// The step of the last plan, which was not empty(), ran; one result for each row that wanted
  /// logits. Ends are reported in the next plan.
  void step_done(std::span<const RowResult> results, Duration took);

  /// The next step, valid until the next call. REQUIRES: the step before, unless it was empty(),
  /// was reported done.
  [[nodiscard]] const StepPlan& plan(Instant now);

  // Questions.
  [[nodiscard]] std::span<const TokenId> tokens(
      SequenceId id) const;  ///< Prompt and answer so far.
  [[nodiscard]] std::span<const PageId> table(SequenceId id) const { return ledger_.table(id); }
  /// What one request has had so far.
  struct Progress {
    bool running = false;
    std::uint32_t prompt_tokens = 0;
    std::uint32_t computed_tokens = 0;  ///< Positions in memory now.
    std::uint32_t answer_tokens = 0;
    std::uint32_t preemptions = 0;
  };
  [[nodiscard]] std::optional<Progress> progress(SequenceId id) const;
  [[nodiscard]] std::uint32_t waiting() const {
    return static_cast<std::uint32_t>(waiting_.size());
  }
  [[nodiscard]] std::uint32_t running() const {
    return static_cast<std::uint32_t>(running_.size());
  }
  [[nodiscard]] std::uint32_t running(Priority p) const;
  /// Kept for `p` and the classes above it.
  [[nodiscard]] std::uint32_t reserved_units(Priority p) const;
  [[nodiscard]] std::uint64_t waiting_tokens() const { return waiting_tokens_; }
  [[nodiscard]] bool idle() const { return sequences_.empty(); }
  /// When plan() must be asked again although nothing happens: the earliest deadline.
  [[nodiscard]] std::optional<Instant> next_deadline() const;
  [[nodiscard]] const kv::Ledger& ledger() const { return ledger_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] policy::FairShare& shares() { return shares_; }

  /// Aborts when the books do not balance.
  void check() const;

 private:
  struct Sequence {
    Request request;              ///< Its prompt has moved to `tokens`.
    std::vector<TokenId> tokens;  ///< Prompt, then answer.
    std::uint32_t prompt = 0;     ///< Of these.
    std::uint64_t arrival_number = 0;
    Instant arrived{};
    Duration waited{};           ///< Before it was admitted.
    std::uint32_t computed = 0;  ///< Positions whose keys and values are in pages.
    std::uint32_t high_water =
        0;  ///< The most that ever were: computing below it again is recomputation.
    std::uint32_t preemptions = 0;
    std::uint32_t group = 0;  ///< Of options.length_groups, by what was expected when it came.
    bool running = false;
    std::optional<End> asked;  ///< To end as kCancelled or kFinished at the next plan.
    std::uint32_t useful = 0;  ///< Answer tokens that its reader took, when asked is kFinished.
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(tokens.size()); }
    [[nodiscard]] std::uint32_t answer() const { return size() - prompt; }
    [[nodiscard]] bool decoding() const { return answer() > 0 && computed + 1 == size(); }
  };

  /// What keeps a sequence from starting, or growing, and whose leaving would help.
  struct Obstacle {
    Held held = Held::kNothing;
    Priority most = Priority::kCritical;  ///< Those of this class or a lower one,
    std::optional<std::uint32_t> group;   ///< of this group.
    [[nodiscard]] bool helped_by(const Sequence& s) const {
      return s.request.priority <= most && (!group || s.group == *group);
    }
  };
  /// Whom admission has passed over in this plan, since they wait for something of their own.
  struct Passed {
    std::uint32_t groups = 0;       ///< Bits.
    std::optional<Priority> up_to;  ///< Classes, for what is kept for those above.
    [[nodiscard]] bool anyone() const { return groups != 0 || up_to.has_value(); }
    [[nodiscard]] bool includes(const Sequence& s) const {
      return (groups >> s.group & 1U) != 0 || (up_to && s.request.priority <= *up_to);
    }
    void add(const Sequence& s, Held why);
  };

  void end(SequenceId id, End how, std::uint32_t wasted, std::vector<Ended>& ended);
  void drop_the_gone(Instant now, StepPlan& plan);
  void place_decodes(Instant now, StepPlan& plan);
  void place_prefills(Instant now, StepPlan& plan);
  void admit(Instant now, StepPlan& plan);
  void make_way(Instant now, StepPlan& plan);
  void start(Sequence& s, Instant now, StepPlan& plan);
  /// What keeps it from starting now, the step's budget aside.
  [[nodiscard]] Obstacle obstacle(const Sequence& s) const;
  /// Units that it will probably hold at once, at most.
  [[nodiscard]] std::uint64_t expected_units(const Sequence& s) const;
  /// Those of them that others do not hold already.
  [[nodiscard]] std::uint64_t units_wanted(const Sequence& s) const;
  [[nodiscard]] policy::Usage places() const;
  /// Of units: held, and promised to those who run.
  [[nodiscard]] policy::Usage promised_units() const;
  /// Makes its table cover `positions`, unless something stands in the way.
  [[nodiscard]] Obstacle grow(const Sequence& s, std::uint32_t positions);
  [[nodiscard]] bool forks(const Sequence& s) const;
  [[nodiscard]] std::uint32_t chunk_of(const Sequence& s, const StepPlan& plan) const;
  void place_chunk(const Sequence& s, std::uint32_t count, StepPlan& plan);
  [[nodiscard]] bool make_room(Sequence& needy, std::uint32_t positions, Instant now,
                               StepPlan& plan);
  [[nodiscard]] bool preempt_for(const Sequence& needy, PreemptionReason why, Instant now,
                                 const Obstacle& obstacle, StepPlan& plan);
  void preempt(Sequence& victim, const Preempted& record, StepPlan& plan);
  [[nodiscard]] std::uint32_t token_budget(const StepPlan& plan) const;
  [[nodiscard]] std::uint32_t expected_positions(const Sequence& s) const;
  /// Beyond the units they hold, to those running of this class and those above.
  [[nodiscard]] std::uint64_t units_promised(Priority from) const;
  /// Its class, or the highest once it has waited too long.
  [[nodiscard]] Priority rank(const Sequence& s, Instant now) const;
  /// Highest rank first, then by arrival; valid until the next call.
  [[nodiscard]] std::span<const SequenceId> running_by_right(Instant now);
  [[nodiscard]] std::optional<SequenceId> first_in_order(Instant now, const Passed& passed) const;
  [[nodiscard]] policy::Waiting as_waiting(const Sequence& s) const;
  [[nodiscard]] Duration remaining_service(const Sequence& s) const;
  /// The leader to fork from: nullptr when there is none (any more).
  [[nodiscard]] const Sequence* leader_of(const Sequence& s) const;
  [[nodiscard]] Sequence& at(SequenceId id);
  [[nodiscard]] const Sequence& at(SequenceId id) const;
  void leave_queue(SequenceId id);
  void enter_queue(SequenceId id);

  const Options options_;
  policy::StepCost cost_;
  kv::Ledger ledger_;
  policy::FairShare shares_;
  policy::LengthEstimate lengths_;
  std::map<SequenceId, Sequence>
      sequences_;  ///< Waiting and running; ordered, so that plans are reproducible.
  std::vector<SequenceId> waiting_;  ///< By arrival.
  std::vector<SequenceId> running_;  ///< By admission.
  std::uint64_t waiting_tokens_ = 0;
  std::uint64_t next_arrival_ = 0;
  std::uint64_t turn_ = 0;    ///< Admissions so far: whose turn it is (policy/order.h).
  std::vector<Ended> ended_;  ///< By the last step, for the next plan.
  StepPlan plan_;             ///< The last; its rows are in flight until step_done().
  bool step_pending_ = false;
  // Scratch of plan(), kept for its capacity.
  std::vector<SequenceId> by_right_;
  std::vector<std::pair<SequenceId, End>> gone_;
  std::vector<policy::Candidate> candidates_;
  std::vector<SequenceId> candidate_ids_;
  Counts counts_;
};

}  // namespace weir::sched
