#pragma once

/// How well a model predicts a text, in llama.cpp's convention, so that the numbers compare: the
/// tokens are cut into windows that do not overlap (a rest shorter than a window is left out), the
/// first token of each is replaced by BOS where the vocabulary adds one, and of each window the
/// second half is scored, tokens window / 2 + 1 .. window - 1, each given all before it in the
/// window. Thread safety: as Model::forward.

#include <cstdint>
#include <optional>
#include <span>

#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/model/model.h"

namespace weir::model {

struct Perplexity {
  double nll = 0.0;  ///< Mean negative log likelihood of a scored token, nats.
  std::uint64_t scored = 0;
  [[nodiscard]] double value() const;  ///< exp(nll).
};

/// kInvalidArgument when the text is shorter than a window or the window does not fit the model.
[[nodiscard]] Result<Perplexity> measure_perplexity(Model& model, std::span<const TokenId> tokens,
                                                    std::optional<TokenId> bos,
                                                    std::uint32_t window = 512);

}  // namespace weir::model
