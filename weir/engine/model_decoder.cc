#include "weir/engine/model_decoder.h"

#include "weir/base/math.h"
#include "weir/engine/engine.h"

namespace weir::engine {
namespace {

DecoderFacts facts_of(const model::Model& model, std::uint32_t kv_pages) {
  const std::uint32_t context = model.options().context;
  return {static_cast<std::int32_t>(model.shape().vocabulary), context, model.options().max_rows,
          kv_pages != 0 ? kv_pages : ceil_div(context, kPageTokens)};
}

}  // namespace

ModelDecoder::ModelDecoder(std::unique_ptr<model::Model> model, std::uint32_t kv_pages)
    : model_(std::move(model)),
      facts_(facts_of(*model_, kv_pages)),
      arena_(model_->kv_shape(), facts_.kv_pages) {}

std::span<const float> ModelDecoder::forward(const model::Batch& batch) {
  return model_->forward(batch, arena_);
}

Engine::Engine(std::unique_ptr<model::Model> model, std::vector<TokenId> end_tokens,
               const sys::Clock& clock, EngineOptions options)
    : Engine(std::make_unique<ModelDecoder>(std::move(model), options.kv_pages),
             std::move(end_tokens), clock, options) {}

}  // namespace weir::engine
