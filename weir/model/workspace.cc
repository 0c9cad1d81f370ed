#include "weir/model/workspace.h"

#include <algorithm>

#include "weir/base/math.h"

namespace weir::model {
namespace {

std::uint64_t qkv_width(const ModelShape& s) {
  return std::uint64_t{s.q_width()} + 2 * std::uint64_t{s.kv_width()};
}

/// compute::Activations: a code for each element; a scale, a scaled sum and two code sums a block.
std::uint64_t activation_bytes(std::uint64_t rows, std::uint64_t columns) {
  return rows * columns +
         4 * sizeof(float) * rows * ceil_div<std::uint64_t>(columns, compute::kActivationBlock);
}

std::uint64_t widest_input(const ModelShape& s) {
  return std::max({s.width, s.q_width(), s.mlp_width});
}

}  // namespace

Workspace::Workspace(const ModelShape& s, std::uint32_t max_rows, std::uint32_t max_logit_rows)
    : residual(std::size_t{max_rows} * s.width),
      normed(std::size_t{max_rows} * s.width),
      qkv(max_rows * qkv_width(s)),
      mixed(std::size_t{max_rows} * s.q_width()),
      projected(std::size_t{max_rows} * s.width),
      gate_up(std::size_t{max_rows} * 2 * s.mlp_width),
      logits(std::size_t{max_logit_rows} * s.vocabulary),
      activations(max_rows, widest_input(s)),
      places(max_rows),
      kept(max_logit_rows),
      attention(max_rows),
      last_attention(max_logit_rows) {}

std::uint64_t Workspace::planned_bytes(const ModelShape& s, std::uint32_t max_rows,
                                       std::uint32_t max_logit_rows) {
  const std::uint64_t floats_a_row =
      3 * std::uint64_t{s.width} + qkv_width(s) + s.q_width() + 2 * std::uint64_t{s.mlp_width};
  const std::uint64_t row =
      floats_a_row * sizeof(float) + sizeof(RowPlace) + sizeof(compute::AttentionRows);
  return max_rows * row +
         max_logit_rows * (std::uint64_t{s.vocabulary} * sizeof(float) + sizeof(std::uint32_t) +
                           sizeof(compute::AttentionRows)) +
         activation_bytes(max_rows, widest_input(s));
}

std::uint64_t Workspace::bytes() const {
  return residual.bytes() + normed.bytes() + qkv.bytes() + mixed.bytes() + projected.bytes() +
         gate_up.bytes() + logits.bytes() + activations.codes.bytes() + activations.scales.bytes() +
         activations.scaled_sums.bytes() + activations.code_sums.bytes() +
         places.size() * sizeof(RowPlace) + kept.size() * sizeof(std::uint32_t) +
         (attention.size() + last_attention.size()) * sizeof(compute::AttentionRows);
}

}  // namespace weir::model
