#include "weir/cli/roofline_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weir/base/math.h"
#include "weir/cli/roofline_run.h"
#include "weir/hub/resolve.h"
#include "weir/model/architectures.h"
#include "weir/model/weights.h"

namespace weir::cli {
namespace {

constexpr std::uint32_t kPositions = 512;
constexpr std::uint32_t kAttended[] = {1, kMostSequences};  ///< Sequences at once.

bool same(std::span<const compute::MatrixView> a, std::span<const compute::MatrixView> b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.type == y.type && x.rows == y.rows && x.columns == y.columns;
  });
}

Status add_kind(const std::string& name, std::span<const compute::MatrixView> stacked,
                std::vector<ProductKind>& kinds) {
  for (ProductKind& kind : kinds) {
    if (kind.name == name && same(kind.stacked, stacked)) {
      ++kind.calls;
      return {};
    }
  }
  WEIR_TRY(const std::uint64_t bytes, compute::Linear::packed_bytes(stacked));
  kinds.push_back({.name = name,
                   .stacked = {stacked.begin(), stacked.end()},
                   .packed_bytes = bytes,
                   .calls = 1});
  return {};
}

Result<std::vector<ProductKind>> kinds_of(const model::WeightViews& views) {
  std::vector<ProductKind> kinds;
  for (const model::LayerViews& layer : views.layers) {
    WEIR_TRY_STATUS(add_kind("q+k+v", layer.qkv, kinds));
    WEIR_TRY_STATUS(add_kind("attention out", {&layer.out, 1}, kinds));
    WEIR_TRY_STATUS(add_kind("gate+up", layer.gate_up, kinds));
    WEIR_TRY_STATUS(add_kind("down", {&layer.down, 1}, kinds));
  }
  WEIR_TRY_STATUS(add_kind("head", {&views.head, 1}, kinds));
  return kinds;
}

std::uint64_t outputs_of(const ProductKind& kind) {
  std::uint64_t rows = 0;
  for (const compute::MatrixView& m : kind.stacked) rows += m.rows;
  return rows;
}

}  // namespace

Result<ModelOfKernels> ModelOfKernels::open(const std::string& model) {
  hub::ResolveOptions only_here;
  only_here.allow_pull = false;
  ModelOfKernels m;
  WEIR_TRY(const std::string path, hub::resolve(model, only_here));
  WEIR_TRY(m.file_, format::open_model_file(path));
  WEIR_TRY(m.shape_, model::read_shape(*m.file_));
  WEIR_TRY(const auto views, model::bind_weights(*m.file_, m.shape_));
  WEIR_TRY(m.kinds_, kinds_of(views));
  m.name_ = path.substr(path.find_last_of('/') + 1);
  return m;
}

std::size_t ModelOfKernels::kernels() const {
  return kinds_.size() * std::size(kBatches) + std::size(kAttended);
}

std::uint64_t ModelOfKernels::streamed_bytes() const {
  std::uint64_t bytes = 0;
  for (const ProductKind& kind : kinds_) bytes += kind.packed_bytes * kind.calls;
  return bytes;
}

compute::AttentionLoad ModelOfKernels::attention_load(std::uint64_t set_bytes) const {
  compute::AttentionLoad load;
  load.heads = shape_.heads;
  load.kv_heads = shape_.kv_heads;
  load.head_dim = shape_.head_dim;
  load.positions = std::min(kPositions, shape_.context);
  load.sequences = kMostSequences;
  const double of_layer = load.kv_bytes() * load.sequences;
  const double wanted = std::ceil(static_cast<double>(set_bytes) / of_layer);
  load.layers =
      static_cast<std::uint32_t>(std::clamp(wanted, 1.0, static_cast<double>(shape_.layers)));
  return load;
}

Result<std::uint64_t> ModelOfKernels::planned_bytes(std::uint64_t set_bytes) const {
  std::uint64_t most = compute::AttentionProbe::planned_bytes(attention_load(set_bytes));
  for (const ProductKind& kind : kinds_) {
    WEIR_TRY(const std::uint64_t bytes, compute::ProductProbe::planned_bytes(
                                            kind.stacked, std::ranges::max(kBatches), set_bytes));
    most = std::max(most, bytes);
  }
  return most;
}

Result<MeasuredModel> ModelOfKernels::measure(
    compute::ThreadPool& pool, const sys::Clock& clock, const RoofsBeside& beside,
    std::uint64_t set_bytes, const KernelBenchOptions& options,
    const std::function<void(const std::string&)>& progress) const {
  MeasuredModel m;
  m.name = name_;
  m.layers = shape_.layers;
  m.post_norms = shape_.post_norms;
  for (const ProductKind& kind : kinds_) {
    progress(fmt::format("{} {}", kind.name, type_names(kind.stacked)));
    WEIR_TRY(auto probe, compute::ProductProbe::make(pool, kind.stacked, std::ranges::max(kBatches),
                                                     set_bytes));
    const auto one = product_work(kind.stacked, static_cast<double>(kind.packed_bytes));
    for (std::uint32_t call = 0; call < kind.calls; ++call) m.row = m.row + one;
    for (const std::uint32_t rows : kBatches) {
      MeasuredKernel kernel;
      kernel.name = kind.name;
      kernel.type = type_names(kind.stacked);
      kernel.outputs = outputs_of(kind);
      kernel.columns = kind.stacked.front().columns;
      kernel.rows = rows;
      kernel.calls = kind.calls;
      kernel.work = measure::with_rows(one, rows);
      measure_kernel(pool, clock, beside, probe.loop(pool, rows), options, kernel);
      m.products.push_back(std::move(kernel));
    }
  }
  const compute::AttentionLoad load = attention_load(set_bytes);
  m.positions = load.positions;
  m.kv_bytes_per_position = load.kv_bytes() / load.positions * shape_.layers;
  compute::AttentionProbe probe(pool, load);
  for (const std::uint32_t sequences : kAttended) {
    MeasuredKernel kernel;
    kernel.name = fmt::format("attention {} x {}", sequences, load.positions);
    progress(kernel.name);
    kernel.type = fmt::format("{} KV", info(load.type).name);
    kernel.rows = sequences;
    kernel.calls = shape_.layers;
    kernel.work = {.bytes = load.kv_bytes() * sequences};
    add_operations(load.type, load.operations() * sequences, kernel.work);
    measure_kernel(pool, clock, beside, probe.loop(pool, sequences), options, kernel);
    m.attention.push_back(std::move(kernel));
  }
  return m;
}

}  // namespace weir::cli
