#pragma once

/// One step of the decoder over a batch: the fused loop over layers that every family shares. The
/// ModelShape says which norms, biases, caps and windows are there; no family is named here.
///
/// Products are shared among the workers by output columns, and what follows column by column (the
/// residual, the gate, quantising) is done at once by the worker that has them; attention is shared
/// by (row, KV head); what needs whole rows (norms, RoPE) by rows. A barrier stands where the
/// sharing changes: nine a layer. A step of few rows, where a barrier costs more than a row, has
/// three fewer: every worker makes the norms and codes of all rows for itself. A step in which
/// every sequence has one row has one fewer: who attends a head also makes it.
///
/// Every row is computed from its own values and its own sequence's pages alone, in one fixed
/// order, so its result depends neither on the chunk it came in nor on its neighbours nor on the
/// number of workers. Thread safety: run() is called by all workers of one team.

#include <cstdint>
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
  void project(const Team& team, std::uint32_t layer);
  void attention_block(const Team& team, std::uint32_t layer, std::uint32_t rows);
  void mlp_block(const Team& team, const Layer& weights, std::uint32_t rows);
  void head(const Team& team);

  /// Of a row's q, k and v as the product left them, makes what attention works with.
  class RowMaker;
  /// Moves the residuals of the rows that get logits to the front: the last layer finishes only
  /// those.
  void keep_logit_rows();
  [[nodiscard]] std::uint32_t finished_rows(std::uint32_t layer) const {
    return layer + 1 == shape_.layers ? kept_rows_ : all_rows_;
  }
  /// The residuals of `rows` rows, normed, as inputs of `next`; they may be read at once.
  [[nodiscard]] compute::Inputs normed_inputs(const Team& team, std::uint32_t rows,
                                              std::span<const float> norm,
                                              const compute::Linear& next);
  /// `x` [rows, columns] as inputs of `next`; they may be read at once. REQUIRES: all workers are
  /// past writing `x`.
  [[nodiscard]] compute::Inputs inputs_of(const Team& team, std::uint32_t rows, const float* x,
                                          std::uint64_t columns, const compute::Linear& next);
  /// residual += post norm(w x + bias). Ends with a barrier.
  void add_product(const Team& team, const compute::Linear& w, const compute::Inputs& x,
                   std::span<const float> bias, std::span<const float> post_norm);
  /// Whether every worker makes inputs of this shape for itself, in its part of the team's scratch.
  [[nodiscard]] bool alone(std::uint32_t rows, std::uint64_t columns) const;

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
  bool single_rows_ = true;           ///< Every sequence has one row, and that gets logits.
};

}  // namespace weir::model
