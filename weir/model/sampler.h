#pragma once

/// Chooses the next token of one sequence from its logits.
///
/// A pure function of (logits, params, history, seed, position): randomness is philox(seed,
/// position), so a seed reproduces whatever else is in the batch. Filters apply in the order of
/// spec/sampling.h, each to the distribution renormalised over what the one before it left; ties go
/// to the lower id. A logit of -infinity is a token that cannot be chosen; a NaN or +infinity
/// anywhere, or nothing but -infinity, fails the choice.
///
/// The vocabulary is never sorted: one pass finds the maximum, one sums, one collects the tokens
/// that can matter, out of the blocks that can hold one; only among those is the boundary found, by
/// selection. When the collected tokens turn out not to hold the whole nucleus, the net is widened,
/// so the result is exact. Nothing is allocated after construction. Thread safety: none; one
/// Sampler per sequence, one SamplerWorkspace per thread.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/ids.h"
#include "weir/model/logit_row.h"
#include "weir/spec/sampling.h"

namespace weir::model {

struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0.0F;
};

struct Logprobs {
  float chosen = 0.0F;
  std::vector<TokenLogprob> top;  ///< Best first, ties to the lower id.
};

class SamplerWorkspace;

/// Natural logs of probabilities under the raw logits (temperature 1, nothing penalised or
/// filtered): of `chosen` and of the `count` most likely tokens. REQUIRES: no NaN, a finite
/// maximum.
[[nodiscard]] Logprobs logprobs(const LogitRow& row, TokenId chosen, std::size_t count,
                                SamplerWorkspace& workspace);

/// What choosing needs that is as large as the vocabulary: 20 bytes a token, shared by all
/// sequences that one thread samples for.
class SamplerWorkspace {
 public:
  explicit SamplerWorkspace(std::int32_t vocabulary);
  /// Bytes the constructor allocates.
  [[nodiscard]] static std::uint64_t planned_bytes(std::int32_t vocabulary);
  [[nodiscard]] std::size_t bytes() const;

 private:
  friend class Sampler;
  friend Logprobs logprobs(const LogitRow&, TokenId, std::size_t, SamplerWorkspace&);
  std::vector<float> adjusted_;        ///< [vocabulary] logits after bias, penalties and bans.
  std::vector<Candidate> candidates_;  ///< [vocabulary]
  std::vector<double> sums_;           ///< [ceil(vocabulary / kScanBlock)]
  std::vector<float> peaks_;           ///< [peak_blocks(vocabulary)] of adjusted_.
  std::vector<std::uint8_t> touched_;  ///< [peak_blocks(vocabulary)] whether its peak may be new.
};

class Sampler {
 public:
  /// Below this a temperature is 0, as in vLLM: 1 / temperature would leave the range of a float.
  static constexpr float kGreedyTemperature = 1e-5F;

  /// REQUIRES: params validated. `max_tokens` bounds the prompt and answer tokens it will be shown.
  Sampler(const SamplingParams& params, std::uint64_t seed, std::int32_t vocabulary,
          std::size_t max_tokens);

  /// Tokens that penalties count: the prompt (repetition only) and the answer so far.
  void saw_prompt(std::span<const TokenId> tokens);
  void saw_answer(TokenId token);

  /// `position` is the index of the answer token to choose, 0 for the first; `banned` tokens are
  /// not chosen. Absent when the logits are not numbers: the request must fail.
  [[nodiscard]] std::optional<TokenId> sample(const LogitRow& row, std::uint64_t position,
                                              SamplerWorkspace& workspace,
                                              std::span<const TokenId> banned = {}) const;

  /// The tokens with a chance at `position` and their probabilities; what sample() draws from, for
  /// tests.
  [[nodiscard]] std::vector<std::pair<TokenId, double>> distribution(
      const LogitRow& row, SamplerWorkspace& workspace) const;

 private:
  struct Seen {
    TokenId token;
    std::uint32_t in_answer;
    bool in_prompt;
  };
  struct Kept;
  [[nodiscard]] LogitRow adjust(const LogitRow& raw, std::span<const TokenId> banned,
                                SamplerWorkspace& workspace) const;
  [[nodiscard]] Kept filter(const LogitRow& row, float max, SamplerWorkspace& workspace) const;
  Seen* find_or_add(TokenId token);

  SamplingParams params_;
  std::uint64_t seed_;
  bool penalises_;
  std::vector<Seen> seen_;  ///< In order of first sight; capacity reserved.
  std::vector<std::uint32_t>
      table_;  ///< Open addressing by token: index + 1 into seen_; a power of two.
};

}  // namespace weir::model
