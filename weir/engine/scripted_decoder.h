#pragma once

/// A decoder for tests: no weights, yet as sensitive as a model. It stores each row's token in the
/// page and slot where keys and values would go, in each of the page's units, and its logits are a
/// pure function of all the tokens it reads back through the pages; so a wrong page, position or
/// order changes the answer. What a window shows must agree with what is kept for all positions.
///
/// It can be held, so that a test knows exactly which step a cancellation falls into, and it moves
/// a ManualClock, so that times are exact. Thread safety: forward() from one thread; the controls
/// from any.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "weir/engine/decoder.h"
#include "weir/sys/clock.h"

namespace weir::engine {

/// The controls, shared with the test because the engine owns the decoder.
class Script {
 public:
  /// Steps from now on wait until let(); await() tells when one has come to wait.
  void hold();
  /// Lets `steps` held steps pass.
  void let(std::uint64_t steps);
  /// Never holds again.
  void release() { let(std::numeric_limits<std::uint64_t>::max()); }
  /// Blocks until `steps` steps have begun since the start.
  void await(std::uint64_t steps);
  [[nodiscard]] std::uint64_t begun() const;

 private:
  friend class ScriptedDecoder;
  void begin_step();
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t begun_ = 0;                                            // guarded by mutex_
  std::uint64_t allowed_ = std::numeric_limits<std::uint64_t>::max();  // guarded by mutex_
};

struct ScriptOptions {
  DecoderFacts facts{97, 256, 64, 64, 32, {1e6, 1e6, 100}};
  std::optional<TokenId> poison{};  ///< After this token every logit is NaN.
  sys::ManualClock* clock = nullptr;
  std::chrono::nanoseconds row_time{0};  ///< The clock moves by this for every row.
  float scale = 6.0F;                    ///< Logits are uniform in [-scale, scale].
};

class ScriptedDecoder final : public Decoder {
 public:
  ScriptedDecoder(ScriptOptions options, std::shared_ptr<Script> script);

  [[nodiscard]] const DecoderFacts& facts() const override { return options_.facts; }
  [[nodiscard]] std::span<const float> forward(const model::Batch& batch) override;
  void look_up_units(std::span<const UnitId> table) override { table_ = table; }
  void copy(std::span<const kv::PageCopy> copies) override;

 private:
  void logits_after(const model::SequenceRows& rows, std::uint32_t positions, float* out) const;

  ScriptOptions options_;
  std::shared_ptr<Script> script_;
  [[nodiscard]] std::size_t slot(std::span<const PageId> pages, std::size_t position,
                                 std::uint32_t unit) const;

  std::vector<TokenId> arena_;  // [kv_units, kPageTokens]
  std::span<const UnitId> table_;
  std::vector<float> logits_;
};

}  // namespace weir::engine
