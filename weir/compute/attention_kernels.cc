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
#include "weir/compute/math-inl.h"
#include "weir/compute/outer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {

/// One group of positions for M query vectors: scores, softmax with the group's own maximum, sum of
/// values. Positions that the tile covers but a vector does not see have weight exactly zero.
template <DType kType, int M>
class GroupPass {
 public:
  GroupPass(const AttentionTile& tile, std::uint32_t group) : t_(tile) {
    const std::uint32_t first = group * kGroupPositions;
    begin_ = std::max(tile.begin, first);
    end_ = std::min(tile.end, first + kGroupPositions);
    base_ = first;
    page_begin_ = (begin_ - base_) / kPageTokens;
    page_end_ = ceil_div(end_ - base_, kPageTokens);
    for (std::uint32_t p = page_begin_; p < page_end_; ++p) {
      const PageId page = tile.rows->pages[base_ / kPageTokens + p];
      keys_[p] = reinterpret_cast<const Stored<kType>*>(
          tile.arena->record(tile.shape->layer, page, tile.kv_head));
    }
  }

  void run() {
    // With few query vectors, several pages (and several vectors of V) at once hide fma's latency.
    constexpr int kPages = M == 1 ? 4 : M <= 3 ? 2 : 1;
    std::uint32_t p = page_begin_;
    for (; p + kPages <= page_end_; p += kPages) score<kPages>(p);
    for (; p < page_end_; ++p) score<1>(p);
    for (int m = 0; m < M; ++m) softmax(m);
    const std::uint64_t width = KvArena::value_stride(t_.arena->shape());
    std::uint64_t d = 0;
    for (; d + kPages * kLanes <= width; d += kPages * kLanes) sum_values<kPages>(d);
    for (; d < width; d += kLanes) sum_values<1>(d);
  }

 private:
  template <int P>
  WEIR_INLINE void score(std::uint32_t page) {
    F32x16 sum[M][P];
    const Stored<kType>* w[P];
    const float* x[M];
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      x[m] = t_.query[m];
      WEIR_UNROLL for (int p = 0; p < P; ++p) sum[m][p] = set(0.0F);
    }
    WEIR_UNROLL for (int p = 0; p < P; ++p) w[p] = keys_[page + static_cast<std::uint32_t>(p)];
    accumulate<kType>(w, kPageTokens, t_.arena->shape().head_dim, x, sum);
    const F32x16 scale = set(t_.shape->scale);
    const float cap = t_.shape->soft_cap;
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      WEIR_UNROLL for (int p = 0; p < P; ++p) {
        F32x16 s = mul(sum[m][p], scale);
        if (cap != 0.0F) s = mul(set(cap), tanh(mul(s, set(1.0F / cap))));
        store(s, weight_[m] + (page + static_cast<std::uint32_t>(p)) * kPageTokens);
      }
    }
  }

  void softmax(int m) {
    const float lowest = -std::numeric_limits<float>::infinity();
    float* w = weight_[m];
    // Clamped into the tile: a vector that sees nothing of this group ends with sum 0 and is left
    // out.
    const std::uint32_t begin = std::clamp(t_.first[m], begin_, end_);
    const std::uint32_t end = std::clamp(t_.last[m] + 1, begin_, end_);
    for (std::uint32_t i = page_begin_ * kPageTokens; i < begin - base_; ++i) w[i] = lowest;
    for (std::uint32_t i = end - base_; i < page_end_ * kPageTokens; ++i) w[i] = lowest;
    F32x16 most = set(lowest);
    for (std::uint32_t p = page_begin_; p < page_end_; ++p)
      most = max(load(w + p * kPageTokens), most);
    const float largest = max_lanes(most);
    float* out = t_.partial[m];
    out[0] = largest;
    if (begin >= end) {
      for (std::uint32_t i = page_begin_ * kPageTokens; i < page_end_ * kPageTokens; ++i)
        w[i] = 0.0F;
      out[1] = 0.0F;
      return;
    }
    F32x16 sums = set(0.0F);
    for (std::uint32_t p = page_begin_; p < page_end_; ++p) {
      const F32x16 e = exp(sub(load(w + p * kPageTokens), set(largest)));
      store(e, w + p * kPageTokens);
      sums = add(sums, e);
    }
    out[1] = sum_lanes(sums);
  }

  template <int P>
  WEIR_INLINE void sum_values(std::uint64_t d) {
    F32x16 sum[M][P];
    const KvShape& kv = t_.arena->shape();
    const std::uint64_t stride = KvArena::value_stride(kv);
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      WEIR_UNROLL for (int p = 0; p < P; ++p) sum[m][p] = set(0.0F);
    }
    for (std::uint32_t page = page_begin_; page < page_end_; ++page) {
      const std::uint32_t from = std::max(begin_ - base_, page * kPageTokens);
      const std::uint32_t to = std::min(end_ - base_, (page + 1) * kPageTokens);
      const Stored<kType>* v = keys_[page] + std::uint64_t{kv.head_dim} * kPageTokens +
                               (from - page * kPageTokens) * stride + d;
      const Stored<kType>* w[P];
      const float* x[M];
      WEIR_UNROLL for (int p = 0; p < P; ++p) w[p] = v + p * kLanes;
      WEIR_UNROLL for (int m = 0; m < M; ++m) x[m] = weight_[m] + from;
      accumulate<kType>(w, stride, to - from, x, sum);
    }
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      WEIR_UNROLL for (int p = 0; p < P; ++p) {
        // + 0: a sum flushed to -0 must not depend on the zero weights after it.
        store(add(sum[m][p], set(0.0F)),
              t_.partial[m] + kPartialHeader + d + static_cast<std::uint64_t>(p * kLanes));
      }
    }
  }

  const AttentionTile& t_;
  std::uint32_t base_, begin_, end_;     ///< Absolute positions; base_ is the group's first.
  std::uint32_t page_begin_, page_end_;  ///< Within the group.
  const Stored<kType>* keys_[kGroupPages];
  alignas(64) float weight_[M][kGroupPositions];  ///< Scores, then exp(score - largest).
};

template <DType kType>
void run_group(const AttentionTile& tile, std::uint32_t group) {
  switch (tile.vectors) {
    case 1:
      return GroupPass<kType, 1>(tile, group).run();
    case 2:
      return GroupPass<kType, 2>(tile, group).run();
    case 3:
      return GroupPass<kType, 3>(tile, group).run();
    case 4:
      return GroupPass<kType, 4>(tile, group).run();
    case 5:
      return GroupPass<kType, 5>(tile, group).run();
    default:
      return GroupPass<kType, 6>(tile, group).run();
  }
}

void AttendGroup(const AttentionTile& tile, std::uint32_t group) {
  if (tile.arena->shape().type == DType::kF32) {
    run_group<DType::kF32>(tile, group);
  } else {
    run_group<DType::kF16>(tile, group);
  }
}

/// Merges the next group into the state: both are brought to the larger maximum.
void FoldPartial(const float* partial, std::uint64_t width, AttentionState& state, float* out) {
  const float largest = partial[0];
  const float sum = partial[1];
  const float* values = partial + kPartialHeader;
  alignas(64) float lanes[kLanes] = {};
  if (state.empty) {
    state = {false, largest, sum};
    std::copy(values, values + width, out);
    return;
  }
  const float both = largest > state.largest ? largest : state.largest;
  lanes[0] = state.largest - both;
  lanes[1] = largest - both;
  store(exp(load(lanes)), lanes);
  const F32x16 old_weight = set(lanes[0]);
  const F32x16 new_weight = set(lanes[1]);
  state.sum = std::fma(state.sum, lanes[0], sum * lanes[1]);
  state.largest = both;
  alignas(64) float edge[kLanes];
  for (std::uint64_t d = 0; d < width; d += kLanes) {
    const std::uint64_t n = std::min<std::uint64_t>(kLanes, width - d);
    std::copy(out + d, out + d + n, edge);
    store(fma(load(edge), old_weight, mul(load(values + d), new_weight)), edge);
    std::copy(edge, edge + n, out + d);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir::compute {
HWY_EXPORT(AttendGroup);
HWY_EXPORT(FoldPartial);
void attend_group(const AttentionTile& tile, std::uint32_t group) {
  HWY_DYNAMIC_DISPATCH(AttendGroup)(tile, group);
}
void fold_partial(const float* partial, std::uint64_t width, AttentionState& state, float* out) {
  HWY_DYNAMIC_DISPATCH(FoldPartial)(partial, width, state, out);
}
}  // namespace weir::compute
#endif
