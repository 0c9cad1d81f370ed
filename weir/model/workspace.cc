#include "weir/model/workspace.h"

#include <algorithm>

#include "weir/base/math.h"
#include "weir/model/logit_scan.h"

namespace weir::model {
namespace {

std::uint64_t qkv_width(const ModelShape& s) {
  return std::uint64_t{s.q_width()} + 2 * std::uint64_t{s.kv_width()};
}

std::uint64_t widest_input(const ModelShape& s) { return std::max(s.width, s.q_width()); }

std::uint64_t input_bytes(const ModelShape& s, std::uint32_t rows) {
  return compute::Activations::bytes(rows, widest_input(s)) +
         compute::Activations::bytes(rows, s.mlp_width);
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
      peaks(std::size_t{max_logit_rows} * peak_blocks(s.vocabulary)),
      inputs(max_rows, widest_input(s)),
      gated(max_rows, s.mlp_width),
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
         max_logit_rows * ((s.vocabulary + peak_blocks(s.vocabulary)) * sizeof(float) +
                           sizeof(std::uint32_t) + sizeof(compute::AttentionRows)) +
         input_bytes(s, max_rows);
}

std::uint64_t Workspace::bytes() const {
  return residual.bytes() + normed.bytes() + qkv.bytes() + mixed.bytes() + projected.bytes() +
         gate_up.bytes() + logits.bytes() + peaks.bytes() + inputs.bytes() + gated.bytes() +
         places.size() * sizeof(RowPlace) + kept.size() * sizeof(std::uint32_t) +
         (attention.size() + last_attention.size()) * sizeof(compute::AttentionRows);
}

}  // namespace weir::model
