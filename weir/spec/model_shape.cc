#include "weir/spec/model_shape.h"

#include <fmt/format.h>

#include <cmath>

namespace weir {
namespace {

Status size_in(const char* name, std::uint32_t value, std::uint32_t low, std::uint32_t high) {
  if (value >= low && value <= high) return {};
  return fail(Code::kCorrupt,
              fmt::format("{} is {}, outside what any model of this kind has ({} to {})", name,
                          value, low, high),
              name);
}

Status positive(const char* name, float value) {
  if (std::isfinite(value) && value > 0) return {};
  return fail(Code::kCorrupt, fmt::format("{} is {}, but must be a positive number", name, value),
              name);
}

Status must(bool holds, const char* name, std::string message) {
  if (holds) return {};
  return fail(Code::kCorrupt, std::move(message), name);
}

}  // namespace

Status validate(const ModelShape& s) {
  // Bounds are about ten times the largest published model, so that sizes multiply without
  // overflow.
  WEIR_TRY_STATUS(size_in("layers", s.layers, 1, 4096));
  WEIR_TRY_STATUS(size_in("width", s.width, 1, 1U << 20));
  WEIR_TRY_STATUS(size_in("heads", s.heads, 1, 1U << 14));
  WEIR_TRY_STATUS(size_in("kv_heads", s.kv_heads, 1, s.heads));
  WEIR_TRY_STATUS(size_in("head_dim", s.head_dim, 2, 4096));
  WEIR_TRY_STATUS(size_in("mlp_width", s.mlp_width, 1, 1U << 22));
  WEIR_TRY_STATUS(size_in("vocabulary", s.vocabulary, 1, 1U << 24));
  WEIR_TRY_STATUS(size_in("context", s.context, 1, 1U << 28));
  WEIR_TRY_STATUS(size_in("rope dims", s.rope.dims, 2, s.head_dim));
  WEIR_TRY_STATUS(
      must(s.heads % s.kv_heads == 0, "kv_heads",
           fmt::format("{} heads cannot share {} KV heads evenly", s.heads, s.kv_heads)));
  WEIR_TRY_STATUS(
      must(s.rope.dims % 2 == 0, "rope dims", "an odd number of dimensions cannot rotate"));
  WEIR_TRY_STATUS(
      must(s.rope.frequency_divisors.empty() || s.rope.frequency_divisors.size() == s.rope.dims / 2,
           "rope factors",
           fmt::format("{} RoPE factors for {} rotated pairs", s.rope.frequency_divisors.size(),
                       s.rope.dims / 2)));
  WEIR_TRY_STATUS(
      must(s.rope.long_frequency_divisors.empty() ||
               (s.rope.long_frequency_divisors.size() == s.rope.dims / 2 &&
                s.rope.frequency_divisors.size() == s.rope.dims / 2 && s.rope.original_context > 0),
           "rope factors",
           fmt::format(
               "{} long and {} short RoPE factors for {} rotated pairs over {} original positions",
               s.rope.long_frequency_divisors.size(), s.rope.frequency_divisors.size(),
               s.rope.dims / 2, s.rope.original_context)));
  WEIR_TRY_STATUS(positive("rope theta", s.rope.theta));
  WEIR_TRY_STATUS(positive("rope local theta", s.rope.local_theta));
  WEIR_TRY_STATUS(positive("rope position scale", s.rope.position_scale));
  WEIR_TRY_STATUS(positive("rope magnitude", s.rope.magnitude));
  for (float divisor : s.rope.frequency_divisors) WEIR_TRY_STATUS(positive("rope factor", divisor));
  for (float divisor : s.rope.long_frequency_divisors)
    WEIR_TRY_STATUS(positive("rope factor", divisor));
  WEIR_TRY_STATUS(positive("norm epsilon", s.norm_epsilon));
  WEIR_TRY_STATUS(positive("attention scale", s.attention_scale));
  WEIR_TRY_STATUS(positive("embedding scale", s.embedding_scale));
  WEIR_TRY_STATUS(positive("logit scale", s.logit_scale));
  WEIR_TRY_STATUS(must(std::isfinite(s.attention_soft_cap) && s.attention_soft_cap >= 0 &&
                           std::isfinite(s.logit_soft_cap) && s.logit_soft_cap >= 0,
                       "soft cap", "a soft cap must be a number, and not negative"));
  WEIR_TRY_STATUS(must(s.window == 0 ? s.local_layer.empty() : s.local_layer.size() == s.layers,
                       "window", "the sliding-window pattern does not name every layer"));
  return {};
}

}  // namespace weir
