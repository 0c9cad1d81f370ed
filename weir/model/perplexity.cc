#include "weir/model/perplexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "weir/base/math.h"
#include "weir/compute/vector_ops.h"

namespace weir::model {

double Perplexity::value() const { return std::exp(nll); }

Result<Perplexity> measure_perplexity(Model& model, std::span<const TokenId> tokens,
                                      std::optional<TokenId> bos, std::uint32_t window) {
  if (window < 4 || window > model.options().context || tokens.size() < window) {
    return fail(Code::kInvalidArgument,
                fmt::format("a window of {} tokens needs a context and a text of at least as many; "
                            "they have {} and {}",
                            window, model.options().context, tokens.size()),
                "window");
  }
  const compute::KvArena arena(model.kv_shape(), ceil_div(window, kPageTokens));
  std::vector<PageId> pages(arena.units());
  for (std::uint32_t i = 0; i < arena.units(); ++i) pages[i] = PageId{i};
  const std::size_t vocabulary = model.shape().vocabulary;

  Perplexity result;
  double sum = 0.0;
  std::vector<TokenId> text(window);
  for (std::size_t begin = 0; begin + window <= tokens.size(); begin += window) {
    std::ranges::copy(tokens.subspan(begin, window), text.begin());
    if (bos) text[0] = *bos;
    const std::uint32_t first_scored = window / 2;
    for (std::uint32_t at = 0; at + 1 < window;) {
      const bool scores = at >= first_scored;
      const std::uint32_t limit =
          scores ? model.options().max_logit_rows : model.options().max_rows;
      const std::uint32_t rows = std::min(limit, (scores ? window - 1 : first_scored) - at);
      const SequenceRows sequence{std::span(text).subspan(at, rows), at, pages, scores ? rows : 0};
      const std::span<const float> logits = model.forward({{&sequence, 1}}, arena);
      for (std::uint32_t i = 0; scores && i < rows; ++i) {
        const std::span<const float> row = logits.subspan(i * vocabulary, vocabulary);
        sum += compute::log_sum_exp(row) -
               static_cast<double>(row[static_cast<std::size_t>(text[at + i + 1])]);
        ++result.scored;
      }
      at += rows;
    }
  }
  result.nll = sum / static_cast<double>(result.scored);
  return result;
}

}  // namespace weir::model
