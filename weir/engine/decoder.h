#pragma once

/// The model as the engine sees it: a batch of rows in, logits out. Narrow, so that the engine can
/// be driven by a script (engine/scripted_decoder.h) as well as by a model
/// (engine/model_decoder.h). Thread safety: forward() and copy() from one thread at a time, the
/// engine's; the facts from any.

#include <cstdint>
#include <span>

#include "weir/kv/ledger.h"
#include "weir/model/batch.h"
#include "weir/policy/step_cost.h"

namespace weir::engine {

struct DecoderFacts {
  std::int32_t vocabulary = 0;
  std::uint32_t context = 0;         ///< Positions one sequence may have.
  std::uint32_t max_rows = 0;        ///< Of one forward pass.
  std::uint32_t kv_pages = 0;        ///< Page ids are 0 .. kv_pages - 1.
  std::uint32_t max_logit_rows = 0;  ///< Of one forward pass.
  policy::StepCostShape cost;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  [[nodiscard]] virtual const DecoderFacts& facts() const = 0;

  /// As model::Model::forward: [sum of logit_rows, vocabulary], valid until the next call.
  [[nodiscard]] virtual std::span<const float> forward(const model::Batch& batch) = 0;

  /// Carries the keys and values of whole pages over, in order.
  virtual void copy(std::span<const kv::PageCopy> copies) = 0;
};

}  // namespace weir::engine
