#include "weir/engine/model_decoder.h"

#include <algorithm>

#include "weir/engine/engine.h"

namespace weir::engine {
namespace {

DecoderFacts facts_of(const model::Model& model, std::uint32_t kv_units) {
  const model::ModelOptions& options = model.options();
  // A packed weight takes about a byte, and a row needs a multiplication and an addition of each;
  // the rates are fitted to steps, so that only the proportion to the KV reads rests on this.
  const auto bytes = static_cast<double>(model.bytes());
  const auto kv_page = static_cast<double>(compute::KvArena::bytes_per_page(model.kv_shape()));
  return {static_cast<std::int32_t>(model.shape().vocabulary),
          options.context,
          options.max_rows,
          kv_units != 0 ? kv_units
                        : static_cast<std::uint32_t>(model.kv_units().of_sequence(
                              options.context, std::min(options.context, options.max_rows))),
          options.max_logit_rows,
          {bytes, 2 * bytes, kv_page / kPageTokens},
          model.pool().workers(),
          model.kv_units()};
}

}  // namespace

ModelDecoder::ModelDecoder(std::unique_ptr<model::Model> model, std::uint32_t kv_units)
    : model_(std::move(model)),
      facts_(facts_of(*model_, kv_units)),
      arena_(model_->kv_shape(), facts_.kv, layer_places(model_->shape(), facts_.kv),
             facts_.kv_units) {}

std::span<const float> ModelDecoder::forward(const model::Batch& batch) {
  return model_->forward(batch, arena_);
}

void ModelDecoder::copy(std::span<const kv::PageCopy> copies) {
  for (const kv::PageCopy& copy : copies) arena_.copy(copy.from, copy.to);
}

void ModelDecoder::for_each(std::size_t count,
                            const std::function<void(std::size_t, std::size_t)>& f) {
  // Waking the workers costs more than one item.
  if (count < 2) return Decoder::for_each(count, f);
  model_->pool().run([&](const compute::ThreadPool::Team& team) {
    const compute::Share mine = team.share(count);
    for (std::size_t i = mine.begin; i < mine.end; ++i) f(i, team.index());
  });
}

Engine::Engine(std::unique_ptr<model::Model> model, std::vector<TokenId> end_tokens,
               const sys::Clock& clock, EngineOptions options)
    : Engine(std::make_unique<ModelDecoder>(std::move(model), options.kv_units),
             std::move(end_tokens), clock, options) {}

}  // namespace weir::engine
