#pragma once

/// A loaded model with the arena its pages live in.
/// Thread safety: as Decoder.

#include <memory>

#include "weir/compute/kv_arena.h"
#include "weir/engine/decoder.h"
#include "weir/model/model.h"

namespace weir::engine {

class ModelDecoder final : public Decoder {
 public:
  /// `kv_units` 0: enough for one full context.
  ModelDecoder(std::unique_ptr<model::Model> model, std::uint32_t kv_units);

  [[nodiscard]] const DecoderFacts& facts() const override { return facts_; }
  [[nodiscard]] std::span<const float> forward(const model::Batch& batch) override;
  [[nodiscard]] std::span<const float> peaks() const override { return model_->peaks(); }
  void look_up_units(std::span<const UnitId> table) override { arena_.look_up_units(table); }
  void copy(std::span<const kv::PageCopy> copies) override;
  void for_each(std::size_t count, const std::function<void(std::size_t, std::size_t)>& f) override;

 private:
  std::unique_ptr<model::Model> model_;
  DecoderFacts facts_;
  compute::KvArena arena_;
};

}  // namespace weir::engine
