#include <algorithm>
#include <cmath>
#include <limits>

#include "weir/base/check.h"
#include "weir/base/math.h"
#include "weir/compute/attention_work.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weir/compute/attention_kernels.cc"
#include <hwy/foreach_target.h>

#include "weir/compute/attention_work.h"
#include "weir/compute/kv_dots-inl.h"
#include "weir/compute/math-inl.h"
#include "weir/compute/row_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
WEIR_BEFORE_BF16
namespace weir::compute {
namespace HWY_NAMESPACE {

/// The largest code of a byte query or weight: its high byte is a signed one, as is its low one.
inline constexpr float kLargestCode = 127 * 256;

/// One group of positions for M query vectors: scores, softmax with the group's own maximum, sum of
/// values. Positions that the tile covers but a vector does not see have weight exactly zero.
template <class Dots, int M>
class GroupPass {
 public:
  GroupPass(const AttentionTile& tile, std::uint32_t group, const AttentionAhead& ahead)
      : t_(tile), layout_(tile.arena->layout()), ahead_(ahead) {
    const std::uint32_t first = group * kGroupPositions;
    base_ = first;
    begin_ = std::max(tile.begin, first) - first;
    end_ = std::min(tile.end, first + kGroupPositions) - first;
    page_begin_ = begin_ / kPageTokens;
    page_end_ = ceil_div(end_, kPageTokens);
    const AttentionAhead records = records_of(tile, group);
    std::copy_n(records.record, records.pages, record_ + page_begin_);
  }

  void run() {
    std::uint32_t p = page_begin_;
    for (; p + kWide <= page_end_; p += kWide) score<kWide>(p);
    for (; p < page_end_; ++p) score<1>(p);
    for (int m = 0; m < M; ++m) find_largest(m);
    for (int m = 0; m < M; ++m) softmax(m);
    const std::uint64_t width = layout_.value_stride;
    std::uint64_t d = 0;
    for (; d + kWide * kLanes <= width; d += kWide * kLanes) sum_values<kWide>(d);
    for (; d < width; d += kLanes) sum_values<1>(d);
  }

 private:
  static constexpr int kWide = kColumns<Dots, M>;

  /// Scoring, the softmax and the sum of values take about as long each, so each fetches a third of
  /// what is ahead. `part` of `parts` of that third, in `columns` steps; with nothing ahead, one
  /// line of this page.
  [[nodiscard]] Fetch fetch(std::uint32_t page, std::uint32_t third, std::uint64_t part,
                            std::uint64_t parts, std::uint64_t columns) const {
    const std::uint32_t at = page - page_begin_;
    if (at >= ahead_.pages) return {record_[page], 0};
    const std::uint64_t bytes = ceil_div(third_bytes(), parts);
    return {ahead_.record[at] + third * third_bytes() + part * bytes, ceil_div(bytes, columns)};
  }
  [[nodiscard]] std::uint64_t third_bytes() const {
    return ceil_div<std::uint64_t>(layout_.record_bytes, 3);
  }

  template <int P>
  WEIR_INLINE void score(std::uint32_t page) {
    typename Dots::Sum sum[M][P];
    const std::byte* w[P];
    const std::uint32_t* x[M];
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      x[m] = t_.factors[m] + kQueryHeader;
      WEIR_UNROLL for (int p = 0; p < P; ++p) sum[m][p] = Dots::zero();
    }
    WEIR_UNROLL for (int p = 0; p < P; ++p) w[p] =
        record_[page + static_cast<std::uint32_t>(p)] + layout_.keys_at;
    // A page ahead for each of these, one after another.
    for (std::uint32_t turn = 0; turn < P; ++turn) {
      const std::uint64_t steps = layout_.key_steps * (turn + 1) / P - layout_.key_steps * turn / P;
      if (steps == 0) continue;  // Fewer rows of K than pages.
      accumulate<Dots>(w, Dots::kColumnBytes, steps, x, fetch(page + turn, 0, 0, 1, P * steps),
                       sum);
      WEIR_UNROLL for (int p = 0; p < P; ++p) w[p] += steps * Dots::kColumnBytes;
      WEIR_UNROLL for (int m = 0; m < M; ++m) x[m] += steps * Dots::kFactorWords;
    }
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      WEIR_UNROLL for (int p = 0; p < P; ++p) {
        F32x16 dot;
        if constexpr (Dots::kIntegers) {
          const auto offset = static_cast<std::int32_t>(t_.factors[m][1]);
          dot = to_f32(sub(Dots::total(sum[m][p]), set(offset)));
        } else {
          dot = sum[m][p];
        }
        store(dot, weight_[m] + (page + static_cast<std::uint32_t>(p)) * kPageTokens);
      }
    }
  }

  /// Turns dot products into scores where a constant is not all that is between them.
  void scale(int m) {
    const float cap = t_.shape->soft_cap;
    if (!Dots::kIntegers && cap == 0.0F) {
      factor_[m] = t_.shape->scale;
      return;
    }
    float factor = t_.shape->scale;
    if constexpr (Dots::kIntegers) factor *= std::bit_cast<float>(t_.factors[m][0]);
    for (std::uint32_t p = page_begin_; p < page_end_; ++p) {
      float* w = weight_[m] + p * kPageTokens;
      F32x16 s = load(w);
      if constexpr (Dots::kIntegers) s = mul(s, scales(p, 0));
      s = mul(s, set(factor));
      if (cap != 0.0F) s = mul(set(cap), tanh(mul(s, set(1.0F / cap))));
      store(s, w);
    }
    factor_[m] = 1.0F;
  }
  /// Of the keys (0) or the values (1) of a page.
  [[nodiscard]] WEIR_INLINE F32x16 scales(std::uint32_t page, std::uint32_t which) const {
    return load_bf16(reinterpret_cast<const std::uint16_t*>(record_[page]) + which * kPageTokens);
  }

  /// What the vector sees of the group, clamped into what the tile does: it may see nothing.
  [[nodiscard]] std::uint32_t begin_of(int m) const {
    return std::clamp(t_.first[m], base_ + begin_, base_ + end_) - base_;
  }
  [[nodiscard]] std::uint32_t end_of(int m) const {
    return std::clamp(t_.last[m] + 1, base_ + begin_, base_ + end_) - base_;
  }

  /// The largest score, before its factor; minus infinity where a score is not seen.
  void find_largest(int m) {
    scale(m);
    const float lowest = -std::numeric_limits<float>::infinity();
    float* w = weight_[m];
    set_outside(w, begin_of(m), end_of(m), lowest);
    F32x16 most = set(lowest);
    for (std::uint32_t p = page_begin_; p < page_end_; ++p)
      most = max(load(w + p * kPageTokens), most);
    // 0 lets what sees nothing end with weights and a sum of 0: it is left out.
    largest_[m] = begin_of(m) < end_of(m) ? largest_lane(most) : 0.0F;
  }

  /// Turns scores into weights and these into factors; m and l of the partial.
  void softmax(int m) {
    float* w = weight_[m];
    const F32x16 factor = set(factor_[m]);
    const float largest = largest_[m] * factor_[m];
    F32x16 sums = set(0.0F);
    for (std::uint32_t p = page_begin_; p < page_end_; ++p) {
      const F32x16 e = exp_of_negative(fma(load(w + p * kPageTokens), factor, set(-largest)));
      const std::uint64_t lines = ceil_div(third_bytes(), M * kAlignment);
      Fetch next = fetch(p, 1, static_cast<std::uint64_t>(m), M, lines);
      for (std::uint64_t i = 0; i < lines; ++i) next.next();
      sums = add(sums, e);
      if constexpr (Dots::kIntegers) {
        store(mul(e, scales(p, 1)), w + p * kPageTokens);
      } else {
        Dots::pack_weights(e, factors_of(m, p));
      }
    }
    t_.partial[m][0] = largest;
    t_.partial[m][1] = sum_lanes(sums);
    if constexpr (Dots::kIntegers) {
      set_outside(w, begin_of(m), end_of(m), 0.0F);  // A scale that was never written may be NaN.
      quantise_weights(m);
    }
  }
  void set_outside(float* w, std::uint32_t begin, std::uint32_t end, float value) const {
    std::fill(w + page_begin_ * kPageTokens, w + begin, value);
    std::fill(w + end, w + page_end_ * kPageTokens, value);
  }
  /// The group's weights, times the scales of the values, as integers of one step.
  void quantise_weights(int m) {
    const float* w = weight_[m];
    F32x16 most = set(0.0F);
    for (std::uint32_t p = page_begin_; p < page_end_; ++p)
      most = max(load(w + p * kPageTokens), most);
    const float largest = largest_lane(most);
    // Too small for its inverse: as good as zero.
    const float inverse = largest >= 0x1p-100F ? kLargestCode / largest : 0.0F;
    step_[m] = largest / kLargestCode;
    I32x16 total = set(0);
    for (std::uint32_t p = page_begin_; p < page_end_; ++p) {
      const I32x16 codes = round_to_int(mul(load(w + p * kPageTokens), set(inverse)));
      total = add(total, codes);
      if constexpr (Dots::kIntegers) Dots::pack(codes, factors_of(m, p));
    }
    offset_[m] = 128 * sum_lanes(total);
  }
  template <int P>
  WEIR_INLINE void sum_values(std::uint64_t d) {
    typename Dots::Sum sum[M][P];
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      WEIR_UNROLL for (int p = 0; p < P; ++p) sum[m][p] = Dots::zero();
    }
    for (std::uint32_t page = page_begin_; page < page_end_; ++page) {
      const std::uint32_t from = std::max(begin_, page * kPageTokens) / Dots::kTogether;
      const std::uint32_t to = std::min(end_, (page + 1) * kPageTokens);
      const std::uint64_t lane_bytes = d * (Dots::kColumnBytes / kLanes);
      const std::uint64_t skipped =
          lane_bytes + (from - page * kPageTokens / Dots::kTogether) * layout_.value_step_bytes;
      const std::byte* w[P];
      const std::uint32_t* x[M];
      WEIR_UNROLL for (int p = 0; p < P; ++p) w[p] =
          record_[page] + layout_.values_at + skipped + p * Dots::kColumnBytes;
      WEIR_UNROLL for (int m = 0; m < M; ++m) x[m] = factors_[m] + from * Dots::kFactorWords;
      const std::uint32_t whole =
          Dots::kMasksTail ? to / Dots::kTogether : ceil_div(to, Dots::kTogether);
      accumulate<Dots>(w, layout_.value_step_bytes, whole - from, x,
                       fetch(page, 2, d / (P * kLanes), layout_.value_stride / (P * kLanes),
                             P * kPageTokens / Dots::kTogether),
                       sum);
      if constexpr (Dots::kMasksTail) {
        if (to % Dots::kTogether != 0) {
          WEIR_UNROLL for (int p = 0; p < P; ++p) w[p] += (whole - from) * layout_.value_step_bytes;
          WEIR_UNROLL for (int m = 0; m < M; ++m) x[m] += (whole - from) * Dots::kFactorWords;
          accumulate_first_elements<Dots>(w, x, sum);
        }
      }
    }
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      WEIR_UNROLL for (int p = 0; p < P; ++p) {
        store(value_of(sum[m][p], m),
              t_.partial[m] + kPartialHeader + d + static_cast<std::uint64_t>(p * kLanes));
      }
    }
  }
  WEIR_INLINE F32x16 value_of(const typename Dots::Sum& sum, int m) const {
    if constexpr (Dots::kIntegers) {
      return mul(to_f32(sub(Dots::total(sum), set(offset_[m]))), set(step_[m]));
    } else {
      // + 0: a sum flushed to -0 must not depend on the zero weights after it.
      return add(sum, set(0.0F));
    }
  }

  std::uint32_t* factors_of(int m, std::uint32_t page) {
    return factors_[m] + page * kPageTokens / Dots::kTogether * Dots::kFactorWords;
  }

  const AttentionTile& t_;
  const KvLayout& layout_;
  const AttentionAhead& ahead_;
  std::uint32_t base_;                   ///< The group's first position.
  std::uint32_t begin_, end_;            ///< Positions the tile sees, within the group.
  std::uint32_t page_begin_, page_end_;  ///< Within the group.
  const std::byte* record_[kGroupPages];
  float factor_[M];                               ///< From scores to the softmax's exponents.
  float largest_[M];                              ///< Score.
  float step_[M];                                 ///< Of a weight's code.
  std::int32_t offset_[M];                        ///< What the offset of the values' codes adds.
  alignas(64) float weight_[M][kGroupPositions];  ///< Dot products, scores, exp(score - largest).
  alignas(64) std::uint32_t factors_[M][kGroupPositions];  ///< Made of the latter.
};

/// The type's arithmetic on this target, as a value of its struct.
template <class F>
void with_dots(DType type, const F& f) {
  switch (type) {
    case DType::kF32:
      return f(FloatDots<DType::kF32>());
    case DType::kF16:
      return f(FloatDots<DType::kF16>());
    case DType::kBF16:
#if HWY_TARGET == HWY_AVX3_DL
      if (has_bf16_dots()) return f(PairDotsBf16());
#endif
      return f(PairDots());
    default:
      return f(ByteDots());
  }
}

void AttendGroup(const AttentionTile& tile, std::uint32_t group, const AttentionAhead& ahead) {
  with_dots(tile.arena->shape().type, [&]<class Dots>(const Dots&) {
    with_rows<kTileVectors>(tile.vectors,
                            [&]<int M>() { GroupPass<Dots, M>(tile, group, ahead).run(); });
  });
}

template <class Dots>
void prepare(const float* q, std::uint64_t head_dim, std::uint32_t* words) {
  std::uint32_t* out = words + kQueryHeader;
  constexpr std::uint64_t kWords = kLanes / Dots::kTogether * Dots::kFactorWords;
  if constexpr (Dots::kIntegers) {
    // The dot product of codes and factors stays within 31 bits: 2^24 / head_dim times 127.
    const float most_code = std::min(kLargestCode, static_cast<float>(((1U << 24) - 1) / head_dim));
    const float largest = largest_magnitude(q, head_dim);
    const bool usable = largest >= 0x1p-100F && !std::isinf(largest);
    const F32x16 inverse = set(usable ? most_code / largest : 0.0F);
    const float step = std::isinf(largest) ? std::numeric_limits<float>::quiet_NaN()
                       : usable            ? largest / most_code
                                           : 0.0F;
    std::int32_t sum = 0;
    for (std::uint64_t d = 0; d < head_dim; d += kLanes, out += kWords) {
      const F32x16 x = load_some(q + d, head_dim - d);
      const I32x16 codes = usable ? round_to_int(mul(x, inverse)) : set(0);
      Dots::pack(codes, out);
      sum += sum_lanes(codes);
    }
    words[0] = std::bit_cast<std::uint32_t>(step);
    words[1] = static_cast<std::uint32_t>(128 * sum);
  } else {
    for (std::uint64_t d = 0; d < head_dim; d += kLanes, out += kWords)
      Dots::pack(load_some(q + d, head_dim - d), out);
  }
}

void PrepareQueries(AttentionTile& tile, std::uint32_t* words) {
  const KvShape& kv = tile.arena->shape();
  const std::uint64_t stride = kQueryHeader + tile.arena->layout().value_stride;
  with_dots(kv.type, [&]<class Dots>(const Dots&) {
    for (std::uint32_t i = 0; i < tile.vectors; ++i, words += stride) {
      prepare<Dots>(tile.query[i], kv.head_dim, words);
      tile.factors[i] = words;
    }
  });
}

/// Merges the next group into each state: both are brought to the larger maximum.
void FoldPartials(std::span<const float* const> partials, std::uint64_t width,
                  std::span<AttentionState> states) {
  static_assert(2 * kTileVectors <= kLanes);
  WEIR_CHECK(partials.size() == states.size() && states.size() <= kTileVectors,
             "a tile has so many vectors");
  // The weights of all, of what was there and of what comes, in one exp.
  alignas(64) float weights[kLanes] = {};
  for (std::size_t i = 0; i < states.size(); ++i) {
    AttentionState& state = states[i];
    const float largest = partials[i][0];
    const float both = state.empty || largest > state.largest ? largest : state.largest;
    weights[i] = state.empty ? 0.0F : state.largest - both;
    weights[kTileVectors + i] = largest - both;
    if (partials[i][1] != 0.0F) state.largest = both;
  }
  store(exp_of_negative(load(weights)), weights);
  for (std::size_t i = 0; i < states.size(); ++i) {
    AttentionState& state = states[i];
    const float sum = partials[i][1];
    const float* values = partials[i] + kPartialHeader;
    float* const out = state.out;
    if (sum == 0.0F) continue;  // It sees none of the group.
    if (state.empty) {
      state.empty = false;
      state.sum = sum;
      std::copy(values, values + width, out);
      continue;
    }
    const F32x16 old_weight = set(weights[i]);
    const F32x16 new_weight = set(weights[kTileVectors + i]);
    state.sum = std::fma(state.sum, weights[i], sum * weights[kTileVectors + i]);
    const auto merged = [&](const F32x16& old, std::uint64_t d) {
      return fma(old, old_weight, mul(load(values + d), new_weight));
    };
    std::uint64_t d = 0;
    for (; d + kLanes <= width; d += kLanes) store(merged(load(out + d), d), out + d);
    if (d < width) store_some(merged(load_some(out + d, width - d), d), out + d, width - d);
  }
}

void FinishFolding(std::uint64_t width, std::span<AttentionState> states) {
  for (const AttentionState& state : states) {
    const F32x16 inverse = set(1.0F / state.sum);
    float* const out = state.out;
    std::uint64_t d = 0;
    for (; d + kLanes <= width; d += kLanes) store(mul(load(out + d), inverse), out + d);
    if (d < width) store_some(mul(load_some(out + d, width - d), inverse), out + d, width - d);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compute {
HWY_EXPORT(AttendGroup);
HWY_EXPORT(PrepareQueries);
HWY_EXPORT(FoldPartials);
HWY_EXPORT(FinishFolding);
void prepare_queries(AttentionTile& tile, std::uint32_t* words) {
  HWY_DYNAMIC_DISPATCH(PrepareQueries)(tile, words);
}
AttentionAhead records_of(const AttentionTile& tile, std::uint32_t group) {
  const std::uint32_t first = group * kGroupPages;
  const std::uint32_t begin = std::max(tile.begin / kPageTokens, first);
  const std::uint32_t end = std::min(ceil_div(tile.end, kPageTokens), first + kGroupPages);
  AttentionAhead ahead;
  for (std::uint32_t p = begin; p < end; ++p) {
    ahead.record[ahead.pages++] =
        tile.arena->record(tile.shape->layer, tile.rows->pages[p], tile.kv_head);
  }
  return ahead;
}
void attend_group(const AttentionTile& tile, std::uint32_t group, const AttentionAhead& ahead) {
  HWY_DYNAMIC_DISPATCH(AttendGroup)(tile, group, ahead);
}
void fold_partials(std::span<const float* const> partials, std::uint64_t head_dim,
                   std::span<AttentionState> states) {
  HWY_DYNAMIC_DISPATCH(FoldPartials)(partials, head_dim, states);
}
void finish_folding(std::uint64_t head_dim, std::span<AttentionState> states) {
  HWY_DYNAMIC_DISPATCH(FinishFolding)(head_dim, states);
}
}  // namespace weir::compute
#endif
