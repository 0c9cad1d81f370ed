#pragma once

/// One step of the decoder over a batch: the fused loop over layers that every family shares. The
/// ModelShape says which norms, biases, caps and windows are there; no family is named here.
///
/// Row-wise work (norms, RoPE, activations) is shared among the workers by rows, products by output
/// columns, attention by (row, KV head); a barrier stands where the sharing changes. Every row is
/// computed from its own values and its own sequence's pages alone, in one fixed order, so its
/// result depends neither on the chunk it came in nor on its neighbours nor on the number of
/// workers. Thread safety: run() is called by all workers of one team.

#include <cstdint>
#include <optional>
#include <span>

#include "weir/compute/kv_arena.h"
#include "weir/compute/thread_pool.h"
#include "weir/compute/vector_ops.h"
#include "weir/model/batch.h"
#include "weir/model/weights.h"
#include "weir/model/workspace.h"
#include "weir/spec/model_shape.h"

namespace weir::model {

class Forward {
 public:
  /// Lays the batch out in `work`, before the team starts.
  Forward(const ModelShape& shape, const Weights& weights, const compute::RopeTable& rope,
          const compute::RopeTable& local_rope, Workspace& work, const Batch& batch,
          const compute::KvArena& arena);

  void run(const compute::ThreadPool::Team& team);

  [[nodiscard]] std::uint32_t logit_rows() const { return kept_rows_; }

 private:
  using Team = compute::ThreadPool::Team;

  void embed(const Team& team);
  void store_keys_and_values(const Team& team, std::uint32_t layer);
  void attention_block(const Team& team, std::uint32_t layer, std::uint32_t rows);
  void mlp_block(const Team& team, const Layer& weights, std::uint32_t rows);
  void head(const Team& team);

  void rotate_and_store(std::size_t row, std::uint32_t layer, const Layer& weights);
  /// Moves the residuals of the rows that get logits to the front: the last layer finishes only
  /// those.
  void keep_logit_rows();
  [[nodiscard]] std::uint32_t finished_rows(std::uint32_t layer) const {
    return layer + 1 == shape_.layers ? kept_rows_ : all_rows_;
  }
  /// residual -> norm -> the next product's input, for the worker's rows; ends with a barrier.
  void norm_and_prepare(const Team& team, std::size_t rows, std::span<const float> norm,
                        const compute::Linear& next);
  /// x -> w x in projected. REQUIRES: all workers are past writing `x`. Ends with a barrier.
  void product(const Team& team, std::uint32_t rows, const compute::Linear& w, const float* x,
               std::uint64_t columns, std::uint64_t stride);
  /// projected + bias -> post norm -> added to the residual, for one row.
  void add_to_residual(std::size_t row, std::span<const float> bias,
                       std::span<const float> post_norm);

  [[nodiscard]] std::span<float> row_of(const compute::AlignedBuffer<float>& buffer,
                                        std::size_t row, std::size_t width) const {
    return buffer.span().subspan(row * width, width);
  }

  const ModelShape& shape_;
  const Weights& weights_;
  const compute::RopeTable& rope_;
  const compute::RopeTable& local_rope_;
  Workspace& work_;
  const compute::KvArena& arena_;
  const std::uint32_t qkv_width_;
  std::uint32_t all_rows_ = 0;
  std::uint32_t kept_rows_ = 0;
  std::uint32_t sequences_ = 0;       ///< Entries of work_.attention.
  std::uint32_t kept_sequences_ = 0;  ///< Entries of work_.last_attention.
};

}  // namespace weir::model
