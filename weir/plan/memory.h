#pragma once

/// Where a model's bytes go: weights, keys and values, and what is left for sequences.
/// Formulas: M_KV per token = 2 N_layers H_kv d_head bytes (Kwon et al., PagedAttention, 2023,
/// section 3; with grouped queries, Ainslie et al. 2023); multi-head latent attention keeps one
/// latent instead (DeepSeek-V2, 2024, section 2.1); pool = fraction * (total - weights - overhead).
/// Thread safety: pure functions.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/plan/registry.h"

namespace weir::plan {

/// How numbers are kept. Bits with their scales: "int4" counts 4 exactly, as papers do; "int4-g128"
/// adds a 16-bit scale and a 4-bit zero for each 128 values.
struct Precision {
  std::string_view name;
  double bits;
};

[[nodiscard]] const std::vector<std::string>& precision_names();
/// REQUIRES: one of precision_names().
[[nodiscard]] Precision precision(std::string_view name);

[[nodiscard]] Bytes weight_bytes(const Model& model, Precision p);
/// Of the parameters one token passes through.
[[nodiscard]] Bytes active_weight_bytes(const Model& model, Precision p);

[[nodiscard]] Bytes kv_per_token(const Model& model, Precision p);
/// "2 x 80 layers x 8 KV heads x 128 x 2 B"
[[nodiscard]] std::string kv_formula(const Model& model, Precision p);
/// Whole pages: what a sequence of `tokens` really holds.
[[nodiscard]] Bytes kv_of_sequence(Bytes per_token, double tokens, double page_tokens);

/// fraction * (total - weights - overhead); 0 when the weights alone do not fit.
[[nodiscard]] Bytes kv_pool(Bytes total, Bytes weights, Bytes overhead, double fraction);
/// Whole sequences of `each` in `pool`.
[[nodiscard]] double sequences_in(Bytes pool, Bytes each);

/// What reserving the longest possible answer wastes: 1 - mean / most.
[[nodiscard]] double contiguous_waste(double mean_tokens, double most_tokens);

/// Operations of one token through the weights: 2 for each active parameter.
[[nodiscard]] Ops ops_per_token(const Model& model);
/// The device's rate for weights and activations in `p`: its own path where it has one, else fp16.
[[nodiscard]] OpRate peak(const Device& device, Precision p);

}  // namespace weir::plan
