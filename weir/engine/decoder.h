#pragma once

/// The model as the engine sees it: a batch of rows in, logits out. Narrow, so that the engine can
/// be driven by a script (engine/scripted_decoder.h) as well as by a model
/// (engine/model_decoder.h). Thread safety: forward(), copy() and for_each() from one thread at a
/// time, the engine's; the facts from any.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "weir/kv/ledger.h"
#include "weir/model/batch.h"
#include "weir/policy/step_cost.h"
#include "weir/spec/kv_units.h"

namespace weir::engine {

struct DecoderFacts {
  std::int32_t vocabulary = 0;
  std::uint32_t context = 0;         ///< Positions one sequence may have.
  std::uint32_t max_rows = 0;        ///< Of one forward pass.
  std::uint32_t kv_units = 0;        ///< Unit ids are 0 .. kv_units - 1.
  std::uint32_t max_logit_rows = 0;  ///< Of one forward pass.
  policy::StepCostShape cost;
  std::size_t workers = 1;  ///< That for_each() may call at once.
  KvUnits kv = {};          ///< How a page is cut.
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  [[nodiscard]] virtual const DecoderFacts& facts() const = 0;

  /// As model::Model::forward: [sum of logit_rows, vocabulary], valid until the next call.
  [[nodiscard]] virtual std::span<const float> forward(const model::Batch& batch) = 0;

  /// Of the logits that forward() gave last, [sum of logit_rows, model::peak_blocks(vocabulary)]
  /// (model/logit_row.h), valid as long as they are; nothing from a decoder that has not looked.
  [[nodiscard]] virtual std::span<const float> peaks() const { return {}; }

  /// In which units pages are, from now on: [page, facts().kv.of_page()]. Changes between calls
  /// only, and outlives them. Before, page p has the units from p * of_page() on.
  virtual void look_up_units(std::span<const UnitId> table) = 0;

  /// Carries the keys and values of whole pages over, in order.
  virtual void copy(std::span<const kv::PageCopy> copies) = 0;

  /// f(i, worker) once for every i in [0, count), worker < min(count, facts().workers), by workers
  /// that are free between forward passes; returns when all are done. f(i, w) must not depend on w
  /// but for its scratch memory, and must not throw.
  virtual void for_each(std::size_t count, const std::function<void(std::size_t, std::size_t)>& f) {
    for (std::size_t i = 0; i < count; ++i) f(i, 0);
  }
};

}  // namespace weir::engine
