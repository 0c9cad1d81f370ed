#include "weir/model/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "weir/base/check.h"
#include "weir/base/math.h"
#include "weir/base/random.h"
#include "weir/model/selection.h"

namespace weir::model {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLowestFloat = std::numeric_limits<float>::lowest();

double by_weight(const Candidate& c) { return c.weight; }
double by_count(const Candidate&) { return 1.0; }

double total_of(std::span<const Candidate> c) {
  return std::accumulate(c.begin(), c.end(), 0.0,
                         [](double s, const Candidate& x) { return s + x.weight; });
}

/// Turns what collect() left (the logit in x) into candidates ordered by probability.
void temper(std::span<Candidate> c, float max, float inverse) {
  for (Candidate& candidate : c) {
    candidate.x = (candidate.x - max) * inverse;
    candidate.key = candidate.x;
    candidate.weight = weight_of(candidate.x);
  }
}

/// The k best tokens, in candidates[0, k). The threshold rises as better tokens are found, so past
/// the first few thousand tokens almost nothing is copied.
std::size_t collect_top(const LogitRow& row, std::size_t k, std::span<Candidate> candidates) {
  constexpr std::size_t kStride = 4096;
  static_assert(kStride % kPeakBlock == 0);
  const std::size_t size = row.logits.size();
  const std::size_t limit = std::max(2 * k, kStride);
  float threshold = kLowestFloat;
  std::size_t n = 0;
  for (std::size_t at = 0; at < size; at += kStride) {
    const std::size_t added =
        row.collect(at, std::min(at + kStride, size), threshold, kInfinity, candidates.data() + n);
    for (Candidate& c : candidates.subspan(n, added)) c.key = c.x;
    n += added;
    if (n <= limit && at + kStride < size) continue;
    n = std::min(n, select_prefix(candidates.first(n), static_cast<double>(k), by_count));
    if (n < k) continue;
    const auto worst =
        std::min_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(n),
                         [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
    // A later token equal to the worst kept one has a higher id and loses the tie.
    threshold = std::nextafter(worst->key, kInfinity);
  }
  return n;
}

}  // namespace

SamplerWorkspace::SamplerWorkspace(std::int32_t vocabulary)
    : adjusted_(static_cast<std::size_t>(vocabulary)),
      candidates_(static_cast<std::size_t>(vocabulary)),
      sums_(ceil_div(static_cast<std::size_t>(vocabulary), kScanBlock)),
      peaks_(peak_blocks(static_cast<std::size_t>(vocabulary))),
      touched_(peaks_.size()) {}

std::uint64_t SamplerWorkspace::planned_bytes(std::int32_t vocabulary) {
  const auto tokens = static_cast<std::uint64_t>(vocabulary);
  return tokens * (sizeof(float) + sizeof(Candidate)) +
         ceil_div(tokens, std::uint64_t{kScanBlock}) * sizeof(double) +
         peak_blocks(tokens) * (sizeof(float) + sizeof(std::uint8_t));
}

std::size_t SamplerWorkspace::bytes() const {
  return adjusted_.capacity() * sizeof(float) + candidates_.capacity() * sizeof(Candidate) +
         sums_.capacity() * sizeof(double) + peaks_.capacity() * sizeof(float) +
         touched_.capacity() * sizeof(std::uint8_t);
}

Sampler::Sampler(const SamplingParams& params, std::uint64_t seed, std::int32_t vocabulary,
                 std::size_t max_tokens)
    : params_(params),
      seed_(seed),
      penalises_(params.repetition_penalty != 1.0F || params.presence_penalty != 0.0F ||
                 params.frequency_penalty != 0.0F) {
  if (!penalises_) return;
  const std::size_t distinct = std::min(static_cast<std::size_t>(vocabulary), max_tokens);
  seen_.reserve(distinct);
  table_.assign(std::bit_ceil(2 * distinct + 1), 0);
}

Sampler::Seen* Sampler::find_or_add(TokenId token) {
  const std::size_t mask = table_.size() - 1;
  // Fibonacci hashing: neighbouring ids land far apart.
  std::size_t slot = (static_cast<std::uint32_t>(token) * 0x9E3779B97F4A7C15ULL >> 32) & mask;
  for (; table_[slot] != 0; slot = (slot + 1) & mask) {
    if (seen_[table_[slot] - 1].token == token) return &seen_[table_[slot] - 1];
  }
  WEIR_CHECK(seen_.size() < seen_.capacity(),
             "a sampler sees no more than max_tokens distinct tokens");
  seen_.push_back({token, 0, false});
  table_[slot] = static_cast<std::uint32_t>(seen_.size());
  return &seen_.back();
}

void Sampler::saw_prompt(std::span<const TokenId> tokens) {
  if (!penalises_) return;
  for (TokenId token : tokens) find_or_add(token)->in_prompt = true;
}

void Sampler::saw_answer(TokenId token) {
  if (penalises_) ++find_or_add(token)->in_answer;
}

LogitRow Sampler::adjust(const LogitRow& raw, std::span<const TokenId> banned,
                         SamplerWorkspace& workspace) const {
  if (params_.logit_bias.empty() && seen_.empty() && banned.empty()) return raw;
  const std::span<float> out(workspace.adjusted_);
  const std::span<std::uint8_t> touched(workspace.touched_);
  // Of std::ranges::copy g++ 12 makes a loop of single floats.
  std::copy(raw.logits.begin(), raw.logits.end(), out.begin());
  std::ranges::fill(touched, 0);
  const auto at = [&](TokenId token) -> float& {
    touched[static_cast<std::size_t>(token) / kPeakBlock] = 1;
    return out[static_cast<std::size_t>(token)];
  };
  for (const auto& [token, bias] : params_.logit_bias) at(token) += bias;
  for (const Seen& seen : seen_) {
    float& logit = at(seen.token);
    logit = logit > 0 ? logit / params_.repetition_penalty : logit * params_.repetition_penalty;
    if (seen.in_answer == 0) continue;
    logit -=
        params_.presence_penalty + params_.frequency_penalty * static_cast<float>(seen.in_answer);
  }
  for (TokenId token : banned) at(token) = -kInfinity;
  if (raw.peaks.empty()) return {out};
  const std::span<float> peaks(workspace.peaks_);
  std::ranges::copy(raw.peaks, peaks.begin());
  for (std::size_t block = 0; block < peaks.size(); ++block) {
    if (touched[block] == 0) continue;
    const std::size_t begin = block * kPeakBlock;
    find_peaks(out.subspan(begin, std::min(kPeakBlock, out.size() - begin)),
               peaks.subspan(block, 1));
  }
  return {out, peaks};
}

/// What the filters left: candidates[0, count) with the sum of their weights, or, when no filter is
/// set, the whole vocabulary with its sum by blocks.
struct Sampler::Kept {
  bool everything = false;
  std::size_t count = 0;
  double total = 0;
};

Sampler::Kept Sampler::filter(const LogitRow& row, float max, SamplerWorkspace& workspace) const {
  const std::size_t vocabulary = row.logits.size();
  const float temperature = params_.temperature;
  const float inverse = 1.0F / temperature;
  std::span<Candidate> candidates(workspace.candidates_);
  std::span<double> sums(workspace.sums_);
  const bool cuts_top = params_.top_k > 0 && static_cast<std::size_t>(params_.top_k) < vocabulary;
  const bool cuts_typical = params_.typical_p < 1.0F;
  const bool cuts_nucleus = params_.top_p < 1.0F;

  // The tokens whose tempered x lies in [from, to], widened by rounding.
  const auto collect_between = [&](double from, double to) {
    const double margin = 1e-6 * (1.0 + std::abs(static_cast<double>(max)));
    const double low = static_cast<double>(max) + temperature * from - margin;
    const double high = static_cast<double>(max) + temperature * to + margin;
    const std::size_t n = row.collect(
        0, vocabulary, static_cast<float>(std::max(low, static_cast<double>(kLowestFloat))),
        static_cast<float>(std::min(high, -static_cast<double>(kLowestFloat))), candidates.data());
    temper(candidates.first(n), max, inverse);
    return n;
  };
  // Widens the net [center - reach, center + reach] until it holds `target` of the weight (or
  // everything).
  const auto net = [&](double center, double reach, double target) {
    for (;; reach *= 2.5) {
      const bool whole = temperature * reach > 1e30 || reach > 1e30;
      const std::size_t n = whole ? collect_between(-std::numeric_limits<double>::infinity(), 0)
                                  : collect_between(center - reach, std::min(center + reach, 0.0));
      if (whole || total_of(candidates.first(n)) >= target || n == vocabulary) return n;
      if (center - reach < -90.0 && center + reach >= 0) return n;  // All that is left weighs 0.
    }
  };

  Kept kept;
  bool collected = false;  // candidates[0, kept.count) hold what is left, kept.total their weight.
  if (cuts_top) {
    kept.count = collect_top(row, static_cast<std::size_t>(params_.top_k), candidates);
    temper(candidates.first(kept.count), max, inverse);
    kept.total = total_of(candidates.first(kept.count));
    collected = true;
  }
  if (cuts_typical) {
    double moment = 0;
    if (collected) {
      for (const Candidate& c : candidates.first(kept.count)) {
        if (c.weight > 0) moment += static_cast<double>(c.weight) * c.x;
      }
    } else {
      moment = sum_weights_and_moment(row.logits, max, inverse, sums);
      kept.total = std::accumulate(sums.begin(), sums.end(), 0.0);
    }
    // -log p = entropy where x = sum(w x) / sum(w): log Z cancels.
    const double center = moment / kept.total;
    const double target = static_cast<double>(params_.typical_p) * kept.total;
    if (!collected) kept.count = net(center, 2.0, target);
    for (Candidate& c : candidates.first(kept.count)) {
      c.key = static_cast<float>(-std::abs(static_cast<double>(c.x) - center));
    }
    kept.count = select_prefix(candidates.first(kept.count), target, by_weight);
    kept.total = total_of(candidates.first(kept.count));
    collected = true;
  }
  if (cuts_nucleus) {
    if (!collected) {
      row.sum_weights(max, inverse, sums);
      kept.total = std::accumulate(sums.begin(), sums.end(), 0.0);
    }
    const double target = static_cast<double>(params_.top_p) * kept.total;
    if (!collected) kept.count = net(0.0, 4.0, target);
    for (Candidate& c : candidates.first(kept.count)) c.key = c.x;
    kept.count = select_prefix(candidates.first(kept.count), target, by_weight);
    kept.total = total_of(candidates.first(kept.count));
    collected = true;
  }
  if (params_.min_p > 0) {
    if (!collected) {
      kept.count = collect_between(std::log(static_cast<double>(params_.min_p)), 0);
      collected = true;
    }
    auto left = candidates.first(kept.count);
    float best = 0;
    for (const Candidate& c : left) best = std::max(best, c.weight);
    const auto end = std::remove_if(left.begin(), left.end(), [&](const Candidate& c) {
      return static_cast<double>(c.weight) <
             static_cast<double>(params_.min_p) * static_cast<double>(best);
    });
    kept.count = static_cast<std::size_t>(end - left.begin());
    kept.total = total_of(candidates.first(kept.count));
  }
  if (!collected) {
    row.sum_weights(max, inverse, sums);
    kept.total = std::accumulate(sums.begin(), sums.end(), 0.0);
    kept.everything = true;
  }
  return kept;
}

std::optional<TokenId> Sampler::sample(const LogitRow& raw, std::uint64_t position,
                                       SamplerWorkspace& workspace,
                                       std::span<const TokenId> banned) const {
  const LogitRow row = adjust(raw, banned, workspace);
  const LogitMaximum maximum = row.maximum();
  if (maximum.has_nan || !std::isfinite(maximum.value)) return std::nullopt;
  if (params_.temperature < kGreedyTemperature) {
    return static_cast<TokenId>(row.find_maximum(maximum.value));
  }
  const Kept kept = filter(row, maximum.value, workspace);
  double left = uniform(seed_, position) * kept.total;
  TokenId last = -1;  // The last token that weighs something: where rounding may leave the walk.
  if (!kept.everything) {
    for (const Candidate& c : std::span(workspace.candidates_).first(kept.count)) {
      if (c.weight <= 0) continue;
      last = c.token;
      left -= c.weight;
      if (left < 0) break;
    }
    return last;
  }
  std::size_t block = 0;
  while (block + 1 < workspace.sums_.size() && left >= workspace.sums_[block]) {
    left -= workspace.sums_[block++];
  }
  // Only rounding can run past the end of a block, and then the last block may hold no weight at
  // all.
  while (block > 0 && workspace.sums_[block] <= 0) --block;
  const float inverse = 1.0F / params_.temperature;
  const std::size_t end = std::min(row.logits.size(), (block + 1) * kScanBlock);
  for (std::size_t i = block * kScanBlock; i < end; ++i) {
    const float weight = weight_of((row.logits[i] - maximum.value) * inverse);
    if (weight <= 0) continue;
    last = static_cast<TokenId>(i);
    left -= weight;
    if (left < 0) break;
  }
  return last;
}

std::vector<std::pair<TokenId, double>> Sampler::distribution(const LogitRow& raw,
                                                              SamplerWorkspace& workspace) const {
  std::vector<std::pair<TokenId, double>> out;
  const LogitRow row = adjust(raw, {}, workspace);
  const LogitMaximum maximum = row.maximum();
  if (maximum.has_nan || !std::isfinite(maximum.value)) return out;
  if (params_.temperature < kGreedyTemperature) {
    out.emplace_back(static_cast<TokenId>(row.find_maximum(maximum.value)), 1.0);
    return out;
  }
  const Kept kept = filter(row, maximum.value, workspace);
  if (kept.everything) {
    for (std::size_t i = 0; i < row.logits.size(); ++i) {
      const float weight =
          weight_of((row.logits[i] - maximum.value) * (1.0F / params_.temperature));
      if (weight > 0) out.emplace_back(static_cast<TokenId>(i), weight / kept.total);
    }
  } else {
    for (const Candidate& c : std::span(workspace.candidates_).first(kept.count)) {
      if (c.weight > 0) out.emplace_back(c.token, c.weight / kept.total);
    }
  }
  return out;
}

Logprobs logprobs(const LogitRow& row, TokenId chosen, std::size_t count,
                  SamplerWorkspace& workspace) {
  const float max = row.maximum().value;
  row.sum_weights(max, 1.0F, workspace.sums_);
  const double log_sum =
      static_cast<double>(max) +
      std::log(std::accumulate(workspace.sums_.begin(), workspace.sums_.end(), 0.0));
  Logprobs out;
  out.chosen = static_cast<float>(row.logits[static_cast<std::size_t>(chosen)] - log_sum);
  if (count == 0) return out;
  const std::span<Candidate> candidates(workspace.candidates_);
  const std::size_t n = collect_top(row, count, candidates);
  std::sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(n), better);
  out.top.reserve(n);
  for (const Candidate& c : candidates.first(n)) {
    out.top.push_back({c.token, static_cast<float>(static_cast<double>(c.key) - log_sum)});
  }
  return out;
}

}  // namespace weir::model
