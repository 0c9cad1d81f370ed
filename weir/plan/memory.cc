#include "weir/plan/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "weir/base/check.h"

namespace weir::plan {
namespace {

constexpr std::array<Precision, 8> kPrecisions = {{{"fp32", 32},
                                                   {"fp16", 16},
                                                   {"bf16", 16},
                                                   {"fp8", 8},
                                                   {"int8", 8},
                                                   {"int4", 4},
                                                   {"int4-g128", 4 + 20.0 / 128},
                                                   {"int2", 2}}};

double kv_values_per_layer(const Model& m) {
  return m.kv_latent > 0 ? m.kv_latent : 2 * m.kv_heads * m.head_dim;
}

}  // namespace

const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Precision& p : kPrecisions) all.emplace_back(p.name);
    return all;
  }();
  return names;
}

Precision precision(std::string_view name) {
  const auto found = std::ranges::find(kPrecisions, name, &Precision::name);
  WEIR_CHECK(found != kPrecisions.end(), "a precision was chosen from the list");
  return *found;
}

Bytes weight_bytes(const Model& m, Precision p) { return bytes(m.parameters * p.bits / 8); }
Bytes active_weight_bytes(const Model& m, Precision p) { return bytes(m.active * p.bits / 8); }

Bytes kv_per_token(const Model& m, Precision p) {
  return bytes(m.layers * kv_values_per_layer(m) * p.bits / 8);
}

std::string kv_formula(const Model& m, Precision p) {
  if (m.kv_latent > 0)
    return fmt::format("{} layers x {} latent values x {} B", m.layers, m.kv_latent, p.bits / 8);
  return fmt::format("2 x {} layers x {} KV heads x {} x {} B", m.layers, m.kv_heads, m.head_dim,
                     p.bits / 8);
}

Bytes kv_of_sequence(Bytes per_token, double tokens, double page_tokens) {
  return per_token * (std::ceil(tokens / page_tokens) * page_tokens);
}

Bytes kv_pool(Bytes total, Bytes weights, Bytes overhead, double fraction) {
  return bytes(std::max(0.0, fraction * (total - weights - overhead).value));
}

double sequences_in(Bytes pool, Bytes each) { return std::floor(pool / each * (1 + 1e-12)); }

double contiguous_waste(double mean_tokens, double most_tokens) {
  return 1 - mean_tokens / most_tokens;
}

Ops ops_per_token(const Model& m) { return ops(2 * m.active); }

OpRate peak(const Device& device, Precision p) {
  OpRate rate{};
  if (p.name == "fp8") rate = device.fp8;
  if (p.name == "int8") rate = device.int8;
  if (p.bits < 8) rate = device.int4;
  return rate.value > 0 ? rate : device.fp16;
}

}  // namespace weir::plan
