#include "weir/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "weir/base/check.h"
#include "weir/compute/vector_ops.h"
#include "weir/model/forward.h"
#include "weir/model/logit_scan.h"
#include "weir/model/sampler.h"
#include "weir/model/weights.h"
#include "weir/model/workspace.h"
#include "weir/spec/kv_type.h"

namespace weir::model {
namespace {

Result<ModelOptions> checked(const ModelShape& shape, ModelOptions options) {
  if (options.context == 0) options.context = shape.context;
  if (options.context > shape.context) {
    return fail(Code::kInvalidArgument,
                fmt::format("context {} is more than the {} positions this model was trained for",
                            options.context, shape.context),
                "context");
  }
  if (options.max_rows == 0 || options.max_logit_rows == 0) {
    return fail(Code::kInvalidArgument, "max_rows and max_logit_rows must be at least 1",
                "max_rows");
  }
  if (!is_kv_type(options.kv_type)) {
    return fail(Code::kInvalidArgument,
                fmt::format("keys and values are kept in {}, not in {}", kKvTypeNames,
                            info(options.kv_type).name),
                "kv_type");
  }
  options.max_logit_rows = std::min(options.max_logit_rows, options.max_rows);
  return options;
}

compute::KvShape kv_shape_of(const ModelShape& shape, DType type) {
  return {shape.layers, shape.kv_heads, shape.head_dim, type};
}

/// Local layers turn differently (Gemma 3): they need a table of their own.
bool needs_local_table(const ModelShape& s) { return s.window != 0 && !s.rope.scale_local_layers; }

/// The RoPE that a context of this length uses: LongRoPE has a second set of divisors.
RopeShape rope_for(const ModelShape& shape, std::uint32_t context) {
  RopeShape rope = shape.rope;
  if (!rope.long_frequency_divisors.empty() && context > rope.original_context) {
    rope.frequency_divisors = rope.long_frequency_divisors;
  }
  return rope;
}

std::uint64_t table_bytes(const ModelShape& shape, std::uint32_t context) {
  return (needs_local_table(shape) ? 2 : 1) * std::uint64_t{context} * shape.rope.dims *
         sizeof(float);
}

}  // namespace

struct Model::Impl {
  Impl(ModelShape s, const ModelOptions& o, Weights w, compute::ThreadPool& p)
      : shape(std::move(s)),
        options(o),
        pool(p),
        weights(std::move(w)),
        rope(rope_for(shape, o.context), o.context, false),
        work(shape, o.max_rows, o.max_logit_rows) {
    if (needs_local_table(shape)) local_rope.emplace(shape.rope, o.context, true);
  }

  const ModelShape shape;
  const ModelOptions options;
  compute::ThreadPool& pool;
  const Weights weights;
  const compute::RopeTable rope;
  std::optional<const compute::RopeTable> local_rope;
  Workspace work;
  std::size_t logit_rows = 0;  ///< Of the last step.
};

Result<BytePlan> Model::plan(const format::ModelFile& file, const ModelShape& shape,
                             const ModelOptions& options, std::uint64_t kv_units) {
  WEIR_TRY(const ModelOptions o, checked(shape, options));
  WEIR_TRY(const WeightViews views, bind_weights(file, shape));
  BytePlan plan;
  plan.file = file.file_bytes();
  WEIR_TRY(plan.weights, Weights::planned_bytes(views, shape));
  plan.activations = Workspace::planned_bytes(shape, o.max_rows, o.max_logit_rows);
  plan.tables = table_bytes(shape, o.context);
  plan.sampling = o.chosen_at_once *
                  SamplerWorkspace::planned_bytes(static_cast<std::int32_t>(shape.vocabulary));
  plan.kv = weir::kv_units(shape, o.context);
  plan.kv_per_unit = compute::KvArena::bytes_per_unit(kv_shape_of(shape, o.kv_type), plan.kv);
  plan.kv_units = kv_units;
  plan.kv_type = o.kv_type;
  plan.rows = o.max_rows;
  return plan;
}

Result<std::unique_ptr<Model>> Model::load(
    const format::ModelFile& file, const ModelShape& shape, const ModelOptions& options,
    compute::ThreadPool& pool, const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  WEIR_TRY(const ModelOptions o, checked(shape, options));
  WEIR_TRY(const WeightViews views, bind_weights(file, shape));
  WEIR_TRY(Weights weights, Weights::pack(views, shape, pool, progress));
  return std::unique_ptr<Model>(
      new Model(std::make_unique<Impl>(shape, o, std::move(weights), pool)));
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::~Model() = default;

const ModelShape& Model::shape() const { return impl_->shape; }
const ModelOptions& Model::options() const { return impl_->options; }
compute::KvShape Model::kv_shape() const {
  return kv_shape_of(impl_->shape, impl_->options.kv_type);
}

KvUnits Model::kv_units() const { return weir::kv_units(impl_->shape, impl_->options.context); }

compute::ThreadPool& Model::pool() const { return impl_->pool; }

std::uint64_t Model::bytes() const {
  const Impl& m = *impl_;
  return m.weights.bytes() + m.work.bytes() + m.rope.bytes() +
         (m.local_rope ? m.local_rope->bytes() : 0);
}

std::span<const float> Model::forward(const Batch& batch, const compute::KvArena& arena) {
  Impl& m = *impl_;
  for (const SequenceRows& s : batch.sequences) {
    WEIR_CHECK(s.first_position + s.tokens.size() <= m.options.context,
               "a position beyond the context");
  }
  Forward step(m.shape, m.weights, m.rope, m.local_rope ? *m.local_rope : m.rope, m.work, batch,
               arena);
  m.pool.run([&step](const compute::ThreadPool::Team& team) { step.run(team); });
  m.logit_rows = step.logit_rows();
  return m.work.logits.span().first(m.logit_rows * m.shape.vocabulary);
}

std::span<const float> Model::peaks() const {
  return impl_->work.peaks.span().first(impl_->logit_rows * peak_blocks(impl_->shape.vocabulary));
}

}  // namespace weir::model
