#pragma once

/// Chooses the next token of one sequence from its logits.
///
/// A pure function of (logits, params, history, seed, position): randomness is philox(seed,
/// position), so a seed reproduces whatever else is in the batch. The vocabulary is never sorted:
/// one pass finds the maximum, one compresses the candidates that can matter, only those are
/// ordered. No allocation after construction. Thread safety: none; one object per sequence.

#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/ids.h"
#include "weir/spec/sampling.h"

namespace weir::model {

struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0.0F;
};

struct Sampled {
  TokenId token = -1;  ///< -1: the logits hold a NaN or no finite value; the request must fail.
  float logprob =
      0.0F;  ///< Natural log of its probability under the raw logits (temperature 1, unpenalised).
};

class Sampler {
 public:
  /// REQUIRES: params validated, seed drawn. `max_answer` bounds the history of penalties.
  Sampler(const SamplingParams& params, std::uint64_t seed, std::int32_t vocabulary,
          std::size_t max_tokens);

  /// Tokens that penalties count: the prompt (repetition only) and the answer so far.
  void saw_prompt(std::span<const TokenId> tokens);
  void saw_answer(TokenId token);

  /// `logits` [vocabulary] are changed in place by bias and penalties (and restored).
  /// `position` is the index of the answer token to choose, 0 for the first.
  [[nodiscard]] Sampled sample(std::span<float> logits, std::uint64_t position);

  /// The `count` most likely tokens under raw logits, best first. `count` <= 20.
  void top_logprobs(std::span<const float> logits, std::size_t count,
                    std::vector<TokenLogprob>& out) const;

 private:
  struct Seen {
    TokenId token;
    std::uint32_t in_answer;
    bool in_prompt;
  };
  SamplingParams params_;
  std::uint64_t seed_;
  std::vector<Seen> seen_;
  std::vector<std::uint32_t>
      seen_at_;  ///< [vocabulary] index + 1 into seen_, only when a penalty is set.
  std::vector<TokenLogprob> candidates_;
};

}  // namespace weir::model
