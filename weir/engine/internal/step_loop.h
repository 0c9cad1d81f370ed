#pragma once

/// The engine's thread and what it shares with those who submit: hear the readers, plan, compute,
/// choose, tell. Internal to the folder: Engine is its face.
///
/// Thread safety: by the groups of members below. The plan's views of tokens and tables are read
/// outside the lock while a step runs, which is sound because submit() only adds sequences.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "weir/engine/engine.h"
#include "weir/engine/sequence.h"
#include "weir/model/sampler.h"

namespace weir::engine {

using TimePoint = sys::Clock::TimePoint;

[[nodiscard]] inline Instant instant(TimePoint t) { return t.time_since_epoch(); }

struct StepLoop {
  StepLoop(std::unique_ptr<Decoder> a_decoder, std::vector<TokenId> an_end_tokens,
           const sys::Clock& a_clock, const EngineOptions& options);
  /// Cancels what waits and runs, tells their readers, and joins.
  ~StepLoop();

  // Constant after construction.
  const std::unique_ptr<Decoder> decoder;
  const std::vector<TokenId> end_tokens;
  const sys::Clock& clock;
  const std::uint32_t context;
  const RequestCaps caps;
  const std::uint32_t max_waiting;
  const std::uint64_t seed_key;

  std::atomic<bool> cancel_all{false};
  std::atomic<std::uint64_t> next_id{1};
  std::atomic<std::uint64_t> seeds_drawn{0};

  mutable std::mutex mutex;
  // Guarded by mutex:
  std::condition_variable work;  // Something to do, or stopping.
  std::condition_variable idle;  // Nothing waits or runs.
  sched::Scheduler scheduler;
  std::unordered_map<SequenceId, std::unique_ptr<Sequence>> sequences;  // Waiting and running.
  Books books;
  std::optional<TimePoint> step_began;
  bool draining = false;
  bool stopping = false;

  Observer* observer = nullptr;  // Set before the first request.

  // The engine's thread only, kept for their capacity:
  struct Row {
    Sequence* sequence;
    Sequence::Choice choice;
  };
  struct Choosing {
    Row* row;
    model::LogitRow logits;
  };
  struct Ended {
    std::unique_ptr<Sequence> sequence;
    Finish finish;
  };
  std::vector<model::SequenceRows> batch;
  std::vector<Row> rows;
  std::vector<Choosing> choosing;
  std::vector<kv::PageCopy> copies;
  std::vector<sched::RowResult> results;
  std::vector<Ended> ended;
  std::vector<std::chrono::nanoseconds> gaps, delays;
  sched::Held held = sched::Held::kNothing;  // By the plan before.
  StepRecord record;
  std::uint64_t times_idle = 0;
  std::vector<model::SamplerWorkspace> workspaces;  // One for each row that is chosen for at once.
  TimePoint now;  // Read once a step, after the forward pass, and on waking.

  std::thread thread;  // Last: it uses all of the above.

  void run();
  bool wait_for_work(std::unique_lock<std::mutex>& lock);
  void begin_step();
  void hear_readers();
  void take_out(const sched::Ended& ended);
  Error late(const Sequence& s) const;
  void compute();
  void finish_step(TimePoint began);
  void tell();
};

}  // namespace weir::engine
