#pragma once

/// Random logits, sampling parameters and histories of tests, reproducible from a seed.
/// Thread safety: none; each test has its own dice.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "weir/base/random.h"
#include "weir/model/logit_scan.h"
#include "weir/model/sampler.h"

namespace weir::model::testing {

inline constexpr float kInf = std::numeric_limits<float>::infinity();

/// A stream of reproducible numbers.
struct Dice {
  std::uint64_t seed;
  std::uint64_t next = 0;
  double real() { return uniform(seed, next++); }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(real() * n); }
  double normal() {
    return std::sqrt(-2 * std::log(1 - real())) * std::cos(6.283185307179586 * real());
  }
};

struct History {
  std::vector<TokenId> prompt, answer;
};

inline std::vector<float> random_logits(Dice& dice, std::size_t size) {
  std::vector<float> logits(size);
  const std::uint32_t form = dice.below(6);
  const double scale = std::vector<double>{0.0, 0.3, 1.0, 3.0, 8.0, 30.0}[dice.below(6)];
  for (float& l : logits) {
    l = static_cast<float>(dice.normal() * scale);
    if (form == 1) l = std::round(l);                          // Ties everywhere.
    if (form == 2 && dice.below(3) == 0) l = -kInf;            // Impossible tokens.
    if (form == 3) l = static_cast<float>(-20 * dice.real());  // A flat tail.
    if (form == 4) l += 1000;
  }
  if (form == 5) logits[dice.below(static_cast<std::uint32_t>(size))] = 40;  // One sure token.
  logits[dice.below(static_cast<std::uint32_t>(size))] = 1;  // At least one is finite.
  return logits;
}

inline SamplingParams random_params(Dice& dice, std::int32_t vocabulary) {
  SamplingParams p;
  const auto maybe = [&] { return dice.below(3) == 0; };
  p.temperature = std::vector<float>{0.1F, 0.7F, 1.0F, 1.0F, 2.0F, 50.0F}[dice.below(6)];
  if (maybe())
    p.top_k = static_cast<std::int32_t>(1 + dice.below(static_cast<std::uint32_t>(vocabulary) + 4));
  if (maybe()) p.top_p = static_cast<float>(0.01 + 0.985 * dice.real());
  if (maybe()) p.min_p = static_cast<float>(std::pow(dice.real(), 3));
  if (maybe()) p.typical_p = static_cast<float>(0.01 + 0.985 * dice.real());
  if (maybe()) p.repetition_penalty = static_cast<float>(0.5 + 2 * dice.real());
  if (maybe()) p.presence_penalty = static_cast<float>(4 * dice.real() - 2);
  if (maybe()) p.frequency_penalty = static_cast<float>(4 * dice.real() - 2);
  if (maybe()) {
    for (int i = 0; i < 5; ++i) {
      p.logit_bias.emplace_back(
          static_cast<TokenId>(dice.below(static_cast<std::uint32_t>(vocabulary))),
          static_cast<float>(200 * dice.real() - 100));
    }
  }
  return p;
}

inline History random_history(Dice& dice, std::int32_t vocabulary) {
  History h;
  for (std::uint32_t n = dice.below(20); n > 0; --n) {
    h.prompt.push_back(static_cast<TokenId>(dice.below(static_cast<std::uint32_t>(vocabulary))));
  }
  for (std::uint32_t n = dice.below(20); n > 0; --n) {
    h.answer.push_back(static_cast<TokenId>(dice.below(static_cast<std::uint32_t>(vocabulary))));
  }
  return h;
}

inline Sampler sampler_for(const SamplingParams& p, const History& h, std::int32_t vocabulary,
                           std::uint64_t seed = 1) {
  Sampler s(p, seed, vocabulary, h.prompt.size() + h.answer.size() + 8);
  s.saw_prompt(h.prompt);
  for (TokenId t : h.answer) s.saw_answer(t);
  return s;
}

inline std::vector<float> peaks_of(const std::vector<float>& logits) {
  std::vector<float> peaks(peak_blocks(logits.size()));
  find_peaks(logits, peaks);
  return peaks;
}

/// Some of the tokens, of which a few are not numbers or cannot be.
inline void spoil(Dice& dice, std::vector<float>& logits) {
  const float what[] = {std::nanf(""), kInf, -kInf, -std::nanf("")};
  const auto size = static_cast<std::uint32_t>(logits.size());
  logits[dice.below(size)] = what[dice.below(4)];
}

}  // namespace weir::model::testing
