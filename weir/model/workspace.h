#pragma once

/// The scratch memory of a forward pass, allocated once for the largest step a model was loaded
/// for. Thread safety: none; workers of one team write disjoint rows.

#include <cstdint>
#include <vector>

#include "weir/base/ids.h"
#include "weir/compute/attention.h"
#include "weir/compute/buffer.h"
#include "weir/compute/linear.h"
#include "weir/spec/model_shape.h"

namespace weir::model {

/// Where a row stands in its sequence and where its keys and values go.
struct RowPlace {
  TokenId token;
  std::uint32_t position;
  PageId page;
  std::uint32_t slot;  ///< Within the page.
};

struct Workspace {
  Workspace(const ModelShape& shape, std::uint32_t max_rows, std::uint32_t max_logit_rows);

  /// Bytes the constructor allocates.
  [[nodiscard]] static std::uint64_t planned_bytes(const ModelShape& shape, std::uint32_t max_rows,
                                                   std::uint32_t max_logit_rows);
  [[nodiscard]] std::uint64_t bytes() const;

  compute::AlignedBuffer<float> residual;  ///< [max_rows, width]
  compute::AlignedBuffer<float> normed;    ///< [max_rows, width]
  compute::AlignedBuffer<float> qkv;       ///< [max_rows, q_width + 2 kv_width]
  compute::AlignedBuffer<float> mixed;     ///< [max_rows, q_width], attention's output.
  compute::AlignedBuffer<float>
      projected;  ///< [max_rows, width], what a block adds to the residual.
  compute::AlignedBuffer<float>
      gate_up;  ///< [max_rows, 2 mlp_width]; the gate half becomes the product.
  compute::AlignedBuffer<float> logits;  ///< [max_logit_rows, vocabulary]
  compute::AlignedBuffer<float> peaks;   ///< [max_logit_rows, peak_blocks(vocabulary)]
  compute::Activations inputs;           ///< Of the products from the residual and from attention.
  compute::Activations gated;  ///< Of the MLP's last product, made while the one before still runs.

  std::vector<RowPlace> places;     ///< [max_rows]
  std::vector<std::uint32_t> kept;  ///< [max_logit_rows] rows that the last layer finishes.
  std::vector<compute::AttentionRows> attention;       ///< [max_rows] at most one sequence a row.
  std::vector<compute::AttentionRows> last_attention;  ///< [max_logit_rows] the last layer's.
};

}  // namespace weir::model
