#include "weir/model/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "weir/base/check.h"
#include "weir/compute/dequantize.h"
#include "weir/model/tensor_names.h"

namespace weir::model {
namespace {

/// Finds tensors by role, checks each against the shape, and remembers which were used.
class Binder {
 public:
  Binder(const format::ModelFile& file, const TensorNames& names) : file_(file), names_(names) {}

  Result<const format::TensorView*> vector(const std::string& name, std::uint64_t size) {
    WEIR_TRY(const format::TensorView* tensor, find(name));
    if (tensor->elements() != size || tensor->columns() != size)
      return wrong_shape(*tensor, {size});
    return tensor;
  }

  Result<compute::MatrixView> matrix(const std::string& name, std::uint64_t rows,
                                     std::uint64_t columns) {
    WEIR_TRY(const format::TensorView* tensor, find(name));
    if (tensor->shape.size() != 2 || tensor->shape[0] != rows || tensor->shape[1] != columns) {
      return wrong_shape(*tensor, {rows, columns});
    }
    return compute::MatrixView{tensor->type, rows, columns, tensor->data};
  }

  [[nodiscard]] bool has(const std::string& name) const { return file_.tensor(name) != nullptr; }

  /// Fails on a tensor inside the decoder's layers that nothing above asked for.
  [[nodiscard]] Status all_used(std::string_view architecture) const {
    for (const format::TensorView& tensor : file_.tensors()) {
      if (!tensor.name.starts_with(names_.layer_prefix()) || used_.contains(tensor.name) ||
          TensorNames::is_harmless(tensor.name)) {
        continue;
      }
      return fail(Code::kUnsupported,
                  fmt::format("{}: tensor {} has no place in a {} model as Weir knows it",
                              file_.path(), tensor.name, architecture),
                  std::string(tensor.name));
    }
    return {};
  }

 private:
  Result<const format::TensorView*> find(const std::string& name) {
    const format::TensorView* tensor = file_.tensor(name);
    if (tensor == nullptr) {
      return fail(Code::kCorrupt, fmt::format("{}: tensor {} is missing", file_.path(), name),
                  name);
    }
    if (!info(tensor->type).weight) {
      return fail(Code::kUnsupported,
                  fmt::format("{}: tensor {} is of type {}, which cannot be a weight", file_.path(),
                              name, info(tensor->type).name),
                  name);
    }
    used_.insert(tensor->name);
    return tensor;
  }

  [[nodiscard]] std::unexpected<Error> wrong_shape(
      const format::TensorView& tensor, std::initializer_list<std::uint64_t> wanted) const {
    return fail(Code::kCorrupt,
                fmt::format("{}: tensor {} is [{}], but this model's sizes need [{}]", file_.path(),
                            tensor.name, fmt::join(tensor.shape, ", "), fmt::join(wanted, ", ")),
                std::string(tensor.name));
  }

  const format::ModelFile& file_;
  const TensorNames& names_;
  std::set<std::string_view> used_;
};

Result<LayerViews> bind_layer(Binder& binder, const TensorNames& names, const ModelShape& s,
                              std::uint32_t i) {
  const auto name = [&](Role role) { return names.layer(i, role); };
  const std::uint64_t qkv_rows = std::uint64_t{s.q_width()} + 2 * std::uint64_t{s.kv_width()};
  LayerViews layer;
  WEIR_TRY(layer.attention_norm, binder.vector(name(Role::kAttentionNorm), s.width));
  WEIR_TRY(layer.mlp_norm, binder.vector(name(Role::kMlpNorm), s.width));
  if (s.post_norms) {
    WEIR_TRY(layer.post_attention_norm, binder.vector(name(Role::kPostAttentionNorm), s.width));
    WEIR_TRY(layer.post_mlp_norm, binder.vector(name(Role::kPostMlpNorm), s.width));
  }
  if (s.qk_norm) {
    WEIR_TRY(layer.q_norm, binder.vector(name(Role::kQNorm), s.head_dim));
    WEIR_TRY(layer.k_norm, binder.vector(name(Role::kKNorm), s.head_dim));
  }

  struct Stacked {
    Role weight, bias;
    std::uint64_t rows;
  };
  std::vector<Stacked> parts = {{Role::kQ, Role::kQBias, s.q_width()},
                                {Role::kK, Role::kKBias, s.kv_width()},
                                {Role::kV, Role::kVBias, s.kv_width()}};
  if (binder.has(name(Role::kQkv))) parts = {{Role::kQkv, Role::kQkvBias, qkv_rows}};
  for (const Stacked& part : parts) {
    WEIR_TRY(auto matrix, binder.matrix(name(part.weight), part.rows, s.width));
    layer.qkv.push_back(matrix);
    if (!s.qkv_bias) continue;
    WEIR_TRY(const auto* bias, binder.vector(name(part.bias), part.rows));
    layer.qkv_bias.push_back(bias);
  }
  WEIR_TRY(layer.out, binder.matrix(name(Role::kOut), s.width, s.q_width()));
  if (s.output_bias) {
    WEIR_TRY(layer.out_bias, binder.vector(name(Role::kOutBias), s.width));
  }

  if (binder.has(name(Role::kGate))) {
    for (const Role role : {Role::kGate, Role::kUp}) {
      WEIR_TRY(auto matrix, binder.matrix(name(role), s.mlp_width, s.width));
      layer.gate_up.push_back(matrix);
    }
  } else {
    WEIR_TRY(auto matrix,
             binder.matrix(name(Role::kGateUp), 2 * std::uint64_t{s.mlp_width}, s.width));
    // Two parts, so that each begins with a panel (the forward pass takes the same columns of
    // both).
    const std::size_t half = matrix.data.size() / 2;
    matrix.rows = s.mlp_width;
    layer.gate_up = {matrix, matrix};
    layer.gate_up[0].data = matrix.data.first(half);
    layer.gate_up[1].data = matrix.data.subspan(half);
  }
  WEIR_TRY(layer.down, binder.matrix(name(Role::kDown), s.width, s.mlp_width));
  return layer;
}

std::uint64_t file_bytes(std::span<const compute::MatrixView> matrices) {
  std::uint64_t sum = 0;
  for (const auto& m : matrices) sum += m.data.size();
  return sum;
}

/// Floats of all norms and biases. Each starts on its own vector, so a kernel may read to the
/// border.
std::uint64_t vector_floats(const ModelShape& s) {
  constexpr std::uint64_t kGrain = compute::kAlignment / sizeof(float);
  const auto padded = [](std::uint64_t n) { return (n + kGrain - 1) / kGrain * kGrain; };
  const std::uint64_t width = padded(s.width);
  const std::uint64_t layer =
      (s.post_norms ? 4 : 2) * width + (s.qk_norm ? 2 * padded(s.head_dim) : 0) +
      (s.qkv_bias ? padded(std::uint64_t{s.q_width()} + 2 * std::uint64_t{s.kv_width()}) : 0) +
      (s.output_bias ? width : 0);
  return s.layers * layer + width;
}

/// Deals out the vectors of one buffer in order.
class VectorStore {
 public:
  VectorStore(compute::AlignedBuffer<float>& buffer, bool norms_add_one)
      : buffer_(buffer), norms_add_one_(norms_add_one) {}

  std::span<const float> take(std::span<const format::TensorView* const> parts) {
    const std::size_t begin = used_;
    for (const format::TensorView* part : parts) {
      const auto size = static_cast<std::size_t>(part->elements());
      compute::dequantize(part->type, part->data, buffer_.span().subspan(used_, size));
      used_ += size;
    }
    const std::span<const float> out = buffer_.span().subspan(begin, used_ - begin);
    constexpr std::size_t kGrain = compute::kAlignment / sizeof(float);
    used_ = (used_ + kGrain - 1) / kGrain * kGrain;
    return out;
  }

  std::span<const float> norm(const format::TensorView* tensor) {
    if (tensor == nullptr) return {};
    const std::span<const float> out = take({&tensor, 1});
    if (norms_add_one_) {
      for (float& w : buffer_.span().subspan(static_cast<std::size_t>(out.data() - buffer_.data()),
                                             out.size())) {
        w += 1.0F;
      }
    }
    return out;
  }

 private:
  compute::AlignedBuffer<float>& buffer_;
  bool norms_add_one_;
  std::size_t used_ = 0;
};

}  // namespace

Result<WeightViews> bind_weights(const format::ModelFile& file, const ModelShape& shape) {
  const TensorNames names(file);
  Binder binder(file, names);
  WeightViews views;
  WEIR_TRY(views.embedding, binder.matrix(names.embedding(), shape.vocabulary, shape.width));
  WEIR_TRY(views.output_norm, binder.vector(names.output_norm(), shape.width));
  views.head = views.embedding;
  if (!shape.tied_head) {
    WEIR_TRY(views.head, binder.matrix(names.head(), shape.vocabulary, shape.width));
  }
  for (std::uint32_t i = 0; i < shape.layers; ++i) {
    WEIR_TRY(LayerViews layer, bind_layer(binder, names, shape, i));
    views.layers.push_back(std::move(layer));
  }
  WEIR_TRY_STATUS(binder.all_used(shape.architecture));
  return views;
}

namespace {

/// Of all packed matrices together.
Result<std::uint64_t> matrix_bytes(const WeightViews& views) {
  std::uint64_t sum = 0;
  const auto add = [&sum](std::span<const compute::MatrixView> stacked) -> Status {
    WEIR_TRY(const std::uint64_t bytes, compute::Linear::packed_bytes(stacked));
    sum += bytes;
    return {};
  };
  WEIR_TRY_STATUS(add({&views.head, 1}));
  for (const LayerViews& layer : views.layers) {
    WEIR_TRY_STATUS(add(layer.qkv));
    WEIR_TRY_STATUS(add({&layer.out, 1}));
    WEIR_TRY_STATUS(add(layer.gate_up));
    WEIR_TRY_STATUS(add({&layer.down, 1}));
  }
  return sum;
}

}  // namespace

Result<std::uint64_t> Weights::planned_bytes(const WeightViews& views, const ModelShape& shape) {
  WEIR_TRY(const std::uint64_t matrices, matrix_bytes(views));
  return matrices + views.embedding.data.size() + vector_floats(shape) * sizeof(float);
}

Result<Weights> Weights::pack(const WeightViews& views, const ModelShape& shape,
                              compute::ThreadPool& pool,
                              const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  std::uint64_t total = views.embedding.data.size() + views.head.data.size();
  for (const LayerViews& l : views.layers) {
    total += file_bytes(l.qkv) + file_bytes(l.gate_up) + l.out.data.size() + l.down.data.size();
  }
  Weights w;
  WEIR_TRY(const std::uint64_t matrices, matrix_bytes(views));
  w.matrices_ = compute::AlignedBuffer<std::byte>(matrices);
  std::span<std::byte> memory = w.matrices_.span();
  std::uint64_t done = 0;
  const auto pack_one =
      [&](std::span<const compute::MatrixView> stacked) -> Result<compute::Linear> {
    WEIR_TRY(compute::Linear packed, compute::Linear::pack(pool, stacked, memory));
    done += file_bytes(stacked);
    if (progress) progress(done, total);
    return packed;
  };

  w.embedding_ = compute::AlignedBuffer<std::byte>(views.embedding.data.size());
  std::memcpy(w.embedding_.data(), views.embedding.data.data(), views.embedding.data.size());
  w.embedding_type_ = views.embedding.type;
  w.embedding_row_bytes_ = views.embedding.data.size() / shape.vocabulary;
  done += views.embedding.data.size();
  WEIR_TRY(w.head_, pack_one({&views.head, 1}));

  w.vectors_ = compute::AlignedBuffer<float>(vector_floats(shape));
  VectorStore store(w.vectors_, shape.norm_adds_one);
  w.layers_.reserve(views.layers.size());
  for (const LayerViews& view : views.layers) {
    Layer layer;
    WEIR_TRY(layer.qkv, pack_one(view.qkv));
    WEIR_TRY(layer.out, pack_one({&view.out, 1}));
    WEIR_TRY(layer.gate_up, pack_one(view.gate_up));
    WEIR_TRY(layer.down, pack_one({&view.down, 1}));
    layer.attention_norm = store.norm(view.attention_norm);
    layer.mlp_norm = store.norm(view.mlp_norm);
    layer.post_attention_norm = store.norm(view.post_attention_norm);
    layer.post_mlp_norm = store.norm(view.post_mlp_norm);
    layer.q_norm = store.norm(view.q_norm);
    layer.k_norm = store.norm(view.k_norm);
    if (!view.qkv_bias.empty()) layer.qkv_bias = store.take(view.qkv_bias);
    if (view.out_bias != nullptr) layer.out_bias = store.take({&view.out_bias, 1});
    w.layers_.push_back(std::move(layer));
  }
  w.output_norm_ = store.norm(views.output_norm);
  return w;
}

std::uint64_t Weights::bytes() const {
  return matrices_.bytes() + embedding_.bytes() + vectors_.bytes();
}

void Weights::embed(std::uint32_t token, std::span<float> out) const {
  compute::dequantize(embedding_type_,
                      embedding_.span().subspan(token * embedding_row_bytes_, embedding_row_bytes_),
                      out);
}

}  // namespace weir::model
