#pragma once

/// A loaded decoder: packed weights and one forward pass that every family shares.
/// Thread safety: forward() from one thread at a time (the engine's); it runs on the pool.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/compute/kv_arena.h"
#include "weir/compute/thread_pool.h"
#include "weir/format/model_file.h"
#include "weir/model/batch.h"
#include "weir/spec/kv_type.h"
#include "weir/spec/kv_units.h"
#include "weir/spec/model_shape.h"

namespace weir::model {

/// Where a loaded model's memory goes; planned from the file alone, before anything is allocated.
struct BytePlan {
  std::uint64_t file = 0;         ///< Mapped while loading, dropped after.
  std::uint64_t weights = 0;      ///< Packed.
  std::uint64_t activations = 0;  ///< Scratch for max_rows rows, logits included.
  std::uint64_t tables = 0;       ///< RoPE.
  std::uint64_t sampling = 0;     ///< What choosing tokens works with, which the engine allocates.
  KvUnits kv;                     ///< How a page of kPageTokens positions is cut.
  std::uint64_t kv_per_unit = 0;  ///< K and V.
  std::uint64_t kv_units = 0;
  DType kv_type = kDefaultKvType;
  std::uint32_t rows = 1;  ///< Of one step.
  [[nodiscard]] std::uint64_t kv_bytes() const { return kv_per_unit * kv_units; }
  [[nodiscard]] std::uint64_t total() const { return without_kv() + kv_bytes(); }
  [[nodiscard]] std::uint64_t without_kv() const {
    return weights + activations + tables + sampling;
  }
};

struct ModelOptions {
  std::uint32_t max_rows = 512;  ///< Rows of one forward pass: the largest prefill chunk.
  std::uint32_t max_logit_rows = 32;
  std::uint32_t context = 0;       ///< Positions; 0 takes the model's own.
  DType kv_type = kDefaultKvType;  ///< is_kv_type().
  /// Rows that tokens are chosen for at once, no more than workers or logit rows: a
  /// SamplerWorkspace each. For the plan alone.
  std::size_t chosen_at_once = 1;
};

/// Where the workers of a step of so many sequences, a row each, wait for each other
/// (docs/kernels.md). Of families with norms after their blocks, `post_norms`. Not counted are a
/// bias of the attention's output, and that few long sequences are shared by positions.
[[nodiscard]] std::uint32_t barriers_of_step(std::uint32_t layers, bool post_norms,
                                             std::uint32_t rows);

class Model {
 public:
  /// The plan for `kv_units` units of KV.
  [[nodiscard]] static Result<BytePlan> plan(const format::ModelFile& file, const ModelShape& shape,
                                             const ModelOptions& options, std::uint64_t kv_units);

  /// Packs the weights. `progress` is called with (done, total) bytes, from this thread.
  [[nodiscard]] static Result<std::unique_ptr<Model>> load(
      const format::ModelFile& file, const ModelShape& shape, const ModelOptions& options,
      compute::ThreadPool& pool,
      const std::function<void(std::uint64_t, std::uint64_t)>& progress = {});
  ~Model();

  [[nodiscard]] const ModelShape& shape() const;
  [[nodiscard]] const ModelOptions& options() const;  ///< With context filled in.
  [[nodiscard]] compute::KvShape kv_shape() const;
  /// For sequences of up to options().context positions.
  [[nodiscard]] KvUnits kv_units() const;
  [[nodiscard]] compute::ThreadPool& pool() const;
  /// What load() allocated: the plan's weights + activations + tables.
  [[nodiscard]] std::uint64_t bytes() const;

  /// One step over the batch: writes K and V of every row into the arena, returns logits
  /// [sum of logit_rows, vocabulary] in batch order, valid until the next call. Allocates nothing.
  /// REQUIRES: rows <= max_rows, logit rows <= max_logit_rows, tokens in range, positions <
  /// context, pages cover the positions (asserted).
  [[nodiscard]] std::span<const float> forward(const Batch& batch, const compute::KvArena& arena);
  /// Of the logits that forward() gave last, [sum of logit_rows, peak_blocks(vocabulary)]
  /// (model/logit_row.h), valid as long as they are.
  [[nodiscard]] std::span<const float> peaks() const;

 private:
  struct Impl;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::model
