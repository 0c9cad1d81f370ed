#include "weir/model/rope_settings.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "weir/compute/dequantize.h"

namespace weir::model {
namespace {

/// transformers 5 writes rope_parameters; before, rope_theta stood alone and rope_scaling beside
/// it. Gemma 3 nests one set for each kind of layer.
class HfRope {
 public:
  HfRope(const Settings& settings, std::string_view kind) : settings_(settings) {
    for (const std::string& folder :
         {fmt::format("rope_parameters.{}.", kind), std::string("rope_parameters."),
          std::string("rope_scaling.")}) {
      for (const char* key : {"rope_type", "type", "rope_theta", "factor"}) {
        if (settings.has({"", folder + key})) {
          folder_ = folder;
          return;
        }
      }
    }
  }

  [[nodiscard]] std::string_view type() const {
    if (const auto type = settings_.text({"", path("rope_type")})) return *type;
    return settings_.text({"", path("type")}).value_or("default");
  }
  [[nodiscard]] std::string path(std::string_view key) const { return folder_ + std::string(key); }
  [[nodiscard]] Result<std::optional<float>> number(std::string_view key) const {
    WEIR_TRY(const std::optional<float> inner, settings_.number({"", path(key)}));
    if (inner) return inner;
    return settings_.number({"", key});
  }
  [[nodiscard]] Result<float> need(std::string_view key) const {
    WEIR_TRY(const std::optional<float> value, number(key));
    if (!value) return settings_.corrupt(fmt::format("{} is missing", path(key)), path(key));
    return *value;
  }
  [[nodiscard]] std::optional<std::vector<float>> numbers(std::string_view key) const {
    return settings_.numbers({"", path(key)});
  }

 private:
  const Settings& settings_;
  std::string folder_ = "rope_scaling.";
};

Result<std::vector<float>> llama3_divisors(const Settings& settings, const HfRope& rope,
                                           const RopeShape& shape) {
  WEIR_TRY(const float factor, rope.need("factor"));
  WEIR_TRY(const float low, rope.need("low_freq_factor"));
  WEIR_TRY(const float high, rope.need("high_freq_factor"));
  WEIR_TRY(const float original, rope.need("original_max_position_embeddings"));
  if (!(factor > 0 && low > 0 && high > low && original > 0)) {
    return settings.corrupt("the llama3 RoPE factors are not in order (0 < low < high)",
                            "rope_scaling");
  }
  std::vector<float> divisors;
  for (std::uint32_t i = 0; i < shape.dims; i += 2) {
    const double wavelength =
        2 * std::numbers::pi * std::pow(shape.theta, static_cast<double>(i) / shape.dims);
    if (wavelength < original / high) {
      divisors.push_back(1.0F);
    } else if (wavelength > original / low) {
      divisors.push_back(factor);
    } else {
      const double smooth = (original / wavelength - low) / (high - low);
      divisors.push_back(static_cast<float>(1.0 / ((1.0 - smooth) / factor + smooth)));
    }
  }
  return divisors;
}

Status read_hf(const Settings& settings, ModelShape& shape) {
  RopeShape& r = shape.rope;
  const HfRope rope(settings, "full_attention");
  WEIR_TRY(const std::optional<float> theta, rope.number("rope_theta"));
  r.theta = theta.value_or(r.theta);
  WEIR_TRY(const std::optional<float> partial, rope.number("partial_rotary_factor"));
  if (partial && !(*partial > 0 && *partial <= 1)) {
    return settings.corrupt(fmt::format("partial_rotary_factor is {}, outside (0, 1]", *partial),
                            "partial_rotary_factor");
  }
  r.dims = static_cast<std::uint32_t>(static_cast<float>(shape.head_dim) * partial.value_or(1.0F));

  const HfRope local(settings, "sliding_attention");
  WEIR_TRY(const std::optional<float> local_theta, local.number("rope_theta"));
  WEIR_TRY(const std::optional<float> old_local_theta,
           settings.number({"", "rope_local_base_freq"}));
  const bool nested = settings.has({"", "rope_parameters.sliding_attention.rope_theta"});
  if (nested) {
    r.local_theta = local_theta.value_or(r.local_theta);
    if (local.type() != "default") {
      return settings.unsupported(
          fmt::format("RoPE scaling \"{}\" of sliding-window layers is not supported",
                      local.type()),
          "rope_type");
    }
  } else {
    r.local_theta = old_local_theta.value_or(r.local_theta);
  }

  const std::string_view type = rope.type();
  if (type == "default" || type == "none") return {};
  if (type == "linear") {
    WEIR_TRY(const float factor, rope.need("factor"));
    r.position_scale = 1.0F / factor;
    return {};
  }
  if (type == "llama3") {
    WEIR_TRY(r.frequency_divisors, llama3_divisors(settings, rope, r));
    return {};
  }
  if (type == "longrope" || type == "su") {
    auto short_factors = rope.numbers("short_factor");
    auto long_factors = rope.numbers("long_factor");
    if (!short_factors || !long_factors) {
      return settings.corrupt(
          fmt::format("{} or {} is missing", rope.path("short_factor"), rope.path("long_factor")),
          "rope_scaling");
    }
    WEIR_TRY(const float original, rope.need("original_max_position_embeddings"));
    WEIR_TRY(const std::optional<float> factor, settings.number({"", rope.path("factor")}));
    WEIR_TRY(const std::optional<float> magnitude,
             settings.number({"", rope.path("attention_factor")}));
    if (!(original > 1 && original <= 1U << 28)) {
      return settings.corrupt(fmt::format("original_max_position_embeddings is {}", original),
                              "rope_scaling");
    }
    r.original_context = static_cast<std::uint32_t>(original);
    r.frequency_divisors = *std::move(short_factors);
    r.long_frequency_divisors = *std::move(long_factors);
    const double scale = factor ? *factor : static_cast<double>(shape.context) / original;
    const double computed = scale <= 1 ? 1.0 : std::sqrt(1 + std::log(scale) / std::log(original));
    r.magnitude = magnitude.value_or(static_cast<float>(computed));
    return {};
  }
  return settings.unsupported(
      fmt::format("RoPE scaling \"{}\" is not supported (known: default, linear, llama3, longrope)",
                  type),
      "rope_type");
}

Result<std::vector<float>> factor_tensor(const Settings& settings, std::string_view name,
                                         std::uint32_t dims) {
  const format::TensorView* tensor = settings.file().tensor(name);
  if (tensor == nullptr) return std::vector<float>();
  if (!info(tensor->type).weight || tensor->elements() != dims / 2) {
    return settings.corrupt(
        fmt::format("tensor {} must hold {} numbers, one for each rotated pair", name, dims / 2),
        std::string(name));
  }
  std::vector<float> out(dims / 2);
  compute::dequantize(tensor->type, tensor->data, out);
  return out;
}

Status read_gguf(const Settings& settings, ModelShape& shape) {
  RopeShape& r = shape.rope;
  WEIR_TRY(r.theta, settings.number_or({"rope.freq_base", ""}, r.theta));
  WEIR_TRY(r.local_theta, settings.number_or({"rope.freq_base_swa", ""}, r.local_theta));
  WEIR_TRY(const auto dims, settings.count({"rope.dimension_count", ""}, 2, shape.head_dim));
  r.dims = dims.value_or(shape.head_dim);

  const std::string_view type = settings.text({"rope.scaling.type", ""}).value_or("none");
  WEIR_TRY(const float old_factor, settings.number_or({"rope.scale_linear", ""}, 1.0F));
  WEIR_TRY(const float factor, settings.number_or({"rope.scaling.factor", ""}, old_factor));
  if (type == "linear" || (type == "none" && !settings.has({"rope.scaling.type", ""}))) {
    r.position_scale = 1.0F / factor;
  } else if (type != "none" && type != "longrope") {
    return settings.unsupported(
        fmt::format("RoPE scaling \"{}\" is not supported (known: none, linear, longrope)", type),
        settings.spelled({"rope.scaling.type", ""}));
  }

  WEIR_TRY(r.frequency_divisors, factor_tensor(settings, "rope_freqs.weight", r.dims));
  WEIR_TRY(auto long_factors, factor_tensor(settings, "rope_factors_long.weight", r.dims));
  WEIR_TRY(auto short_factors, factor_tensor(settings, "rope_factors_short.weight", r.dims));
  if (!long_factors.empty() || !short_factors.empty()) {
    WEIR_TRY(r.original_context,
             settings.need_count({"rope.scaling.original_context_length", ""}, 1, 1U << 28));
    WEIR_TRY(r.magnitude, settings.number_or({"rope.scaling.attn_factor", ""}, 1.0F));
    r.frequency_divisors = std::move(short_factors);
    r.long_frequency_divisors = std::move(long_factors);
  }
  return {};
}

}  // namespace

Status read_rope(const Settings& settings, ModelShape& shape) {
  return settings.gguf() ? read_gguf(settings, shape) : read_hf(settings, shape);
}

}  // namespace weir::model
