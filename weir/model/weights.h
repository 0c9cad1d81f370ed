#pragma once

/// The weights of one decoder: first as views into a file, every name and shape checked; then
/// packed. Thread safety: values; immutable once packed.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "weir/base/result.h"
#include "weir/compute/linear.h"
#include "weir/format/model_file.h"
#include "weir/spec/model_shape.h"

namespace weir::model {

/// One layer in the file. Absent parts are null or empty, as the shape says.
struct LayerViews {
  std::vector<compute::MatrixView> qkv;                ///< [q_width + 2 kv_width, width] in all.
  std::vector<compute::MatrixView> gate_up;            ///< [2 mlp_width, width] in all, gate first.
  compute::MatrixView out;                             ///< [width, q_width]
  compute::MatrixView down;                            ///< [width, mlp_width]
  const format::TensorView* attention_norm = nullptr;  ///< [width]
  const format::TensorView* mlp_norm = nullptr;
  const format::TensorView* post_attention_norm = nullptr;
  const format::TensorView* post_mlp_norm = nullptr;
  const format::TensorView* q_norm = nullptr;  ///< [head_dim]
  const format::TensorView* k_norm = nullptr;
  std::vector<const format::TensorView*> qkv_bias;  ///< q, k, v, or one fused.
  const format::TensorView* out_bias = nullptr;
};

struct WeightViews {
  compute::MatrixView embedding;  ///< [vocabulary, width]
  compute::MatrixView head;       ///< The embedding again when tied.
  const format::TensorView* output_norm = nullptr;
  std::vector<LayerViews> layers;
};

/// A missing tensor, a wrong shape, a type that cannot multiply, or a tensor of a layer that the
/// shape has no use for (it would silently change the model) is one line that names it.
[[nodiscard]] Result<WeightViews> bind_weights(const format::ModelFile& file,
                                               const ModelShape& shape);

struct Layer {
  compute::Linear qkv, out, gate_up, down;
  std::span<const float> attention_norm, mlp_norm;            ///< [width]
  std::span<const float> post_attention_norm, post_mlp_norm;  ///< [width] or empty.
  std::span<const float> q_norm, k_norm;                      ///< [head_dim] or empty.
  std::span<const float> qkv_bias;                            ///< [q_width + 2 kv_width] or empty.
  std::span<const float> out_bias;                            ///< [width] or empty.
};

/// Packed weights. The embedding keeps its file's bytes: a token's row is dequantised when it is
/// used.
class Weights {
 public:
  /// Bytes that pack() will allocate.
  [[nodiscard]] static Result<std::uint64_t> planned_bytes(const WeightViews& views,
                                                           const ModelShape& shape);

  /// `progress` is called with (done, total) bytes of the file.
  [[nodiscard]] static Result<Weights> pack(
      const WeightViews& views, const ModelShape& shape, compute::ThreadPool& pool,
      const std::function<void(std::uint64_t, std::uint64_t)>& progress);

  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] const compute::Linear& head() const { return head_; }
  [[nodiscard]] std::span<const float> output_norm() const { return output_norm_; }
  [[nodiscard]] std::uint64_t bytes() const;

  /// The row of one token, as floats. REQUIRES: token < vocabulary, out.size() == width.
  void embed(std::uint32_t token, std::span<float> out) const;

 private:
  compute::AlignedBuffer<std::byte> matrices_;  ///< What head_ and layers_ point into.
  std::vector<Layer> layers_;
  compute::Linear head_;
  std::span<const float> output_norm_;
  compute::AlignedBuffer<float> vectors_;  ///< Norms and biases of all layers.
  compute::AlignedBuffer<std::byte> embedding_;
  DType embedding_type_ = DType::kF32;
  std::uint64_t embedding_row_bytes_ = 0;
};

}  // namespace weir::model
