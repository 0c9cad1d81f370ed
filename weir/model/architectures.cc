#include "weir/model/architectures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "weir/model/rope_settings.h"
#include "weir/model/settings.h"
#include "weir/model/tensor_names.h"

namespace weir::model {
namespace {

struct Family {
  std::string_view name;  ///< GGUF's general.architecture; for people too.
  std::array<std::string_view, 3>
      hf_types;  ///< config.json model_type values that are this family.
  /// What the family does beyond the sizes that all share. REQUIRES: the common part is filled.
  Status (*fill)(const Settings&, ModelShape&);
};

/// Which layers see only the window, from layer_types where config.json lists them, else
/// `otherwise`.
Status set_window(const Settings& settings, ModelShape& s, std::optional<std::uint32_t> window,
                  const std::function<bool(std::uint32_t)>& otherwise) {
  if (!window) return {};
  s.window = *window;
  s.local_layer.assign(s.layers, false);
  const auto* types = settings.texts({"", "layer_types"});
  if (types != nullptr && types->size() != s.layers) {
    return settings.corrupt(
        fmt::format("layer_types names {} layers of {}", types->size(), s.layers), "layer_types");
  }
  for (std::uint32_t i = 0; i < s.layers; ++i) {
    if (types == nullptr) {
      s.local_layer[i] = otherwise(i);
    } else if ((*types)[i] == "sliding_attention") {
      s.local_layer[i] = true;
    } else if ((*types)[i] != "full_attention") {
      return settings.unsupported(fmt::format("layer type \"{}\" is not supported", (*types)[i]),
                                  "layer_types");
    }
  }
  if (std::ranges::none_of(s.local_layer, [](bool local) { return local; })) {
    s.window = 0;
    s.local_layer.clear();
  }
  return {};
}

Result<std::optional<std::uint32_t>> window_of(const Settings& settings) {
  return settings.count({"attention.sliding_window", "sliding_window"}, 1, 1U << 30);
}

bool every_layer(std::uint32_t /*layer*/) { return true; }

Status fill_llama(const Settings& settings, ModelShape& s) {
  // llama.cpp's converter turns the halves of each q and k head into neighbours for this
  // architecture.
  s.rope.layout = settings.gguf() ? RopeLayout::kInterleaved : RopeLayout::kHalves;
  WEIR_TRY(const auto window, window_of(settings));  // Mistral 7B v0.1.
  return set_window(settings, s, window, every_layer);
}

Status fill_qwen(const Settings& settings, ModelShape& s) {
  // config.json states a window that counts only where use_sliding_window says so, from
  // max_window_layers on.
  if (!settings.boolean({"", "use_sliding_window"}).value_or(false)) return {};
  WEIR_TRY(const auto window, window_of(settings));
  WEIR_TRY(const auto first, settings.count({"", "max_window_layers"}, 0, 1U << 16));
  return set_window(settings, s, window,
                    [first](std::uint32_t layer) { return layer >= first.value_or(0); });
}

Status fill_gemma(const Settings& settings, ModelShape& s) {
  s.activation = Activation::kGeluTanh;
  s.post_norms = true;
  s.norm_adds_one = !settings.gguf();  // The converter adds the one.
  s.embedding_scale = std::sqrt(static_cast<float>(s.width));
  WEIR_TRY(const auto stated, settings.number({"attention.scale", ""}));
  WEIR_TRY(const auto scalar, settings.number({"", "query_pre_attn_scalar"}));
  if (stated) s.attention_scale = *stated;
  if (scalar) s.attention_scale = 1.0F / std::sqrt(*scalar);
  return {};
}

/// The 27B models scale queries by width / heads instead of head_dim, and no GGUF key says so:
/// llama.cpp too knows them by their layer count.
void scale_27b(const Settings& settings, ModelShape& s, std::uint32_t layers_of_27b) {
  if (settings.gguf() && !settings.has({"attention.scale", ""}) && s.layers == layers_of_27b) {
    s.attention_scale = 1.0F / std::sqrt(static_cast<float>(s.width / s.heads));
  }
}

Status fill_gemma2(const Settings& settings, ModelShape& s) {
  WEIR_TRY_STATUS(fill_gemma(settings, s));
  scale_27b(settings, s, 46);
  WEIR_TRY(s.attention_soft_cap,
           settings.number_or({"attn_logit_softcapping", "attn_logit_softcapping"}, 50.0F));
  WEIR_TRY(s.logit_soft_cap,
           settings.number_or({"final_logit_softcapping", "final_logit_softcapping"}, 30.0F));
  WEIR_TRY(const auto window, window_of(settings));
  return set_window(settings, s, window.value_or(4096),
                    [](std::uint32_t layer) { return layer % 2 == 0; });
}

Status fill_gemma3(const Settings& settings, ModelShape& s) {
  WEIR_TRY_STATUS(fill_gemma(settings, s));
  scale_27b(settings, s, 62);
  if (settings.boolean({"", "use_bidirectional_attention"}).value_or(false)) {
    return settings.unsupported("bidirectional attention is not a decoder's",
                                "use_bidirectional_attention");
  }
  WEIR_TRY(s.attention_soft_cap,
           settings.number_or({"attn_logit_softcapping", "attn_logit_softcapping"}, 0.0F));
  WEIR_TRY(s.logit_soft_cap,
           settings.number_or({"final_logit_softcapping", "final_logit_softcapping"}, 0.0F));
  s.qk_norm = true;
  s.rope.scale_local_layers = false;
  WEIR_TRY(const auto window, window_of(settings));
  // Five local layers, then a global one. GGUF may state the period as a number or layer by layer.
  const Key pattern{"attention.sliding_window_pattern", "sliding_window_pattern"};
  const auto* listed = settings.file().array<bool>(settings.spelled(pattern));
  if (listed != nullptr) {
    if (listed->size() != s.layers) {
      return settings.corrupt(fmt::format("{} names {} layers of {}", settings.spelled(pattern),
                                          listed->size(), s.layers));
    }
    return set_window(settings, s, window,
                      [listed](std::uint32_t layer) { return (*listed)[layer]; });
  }
  WEIR_TRY(const auto period, settings.count(pattern, 1, 1U << 16));
  return set_window(settings, s, window,
                    [p = period.value_or(6)](std::uint32_t layer) { return (layer + 1) % p != 0; });
}

Status fill_qwen3(const Settings& settings, ModelShape& s) {
  s.qk_norm = true;
  return fill_qwen(settings, s);
}

Status fill_phi3(const Settings& settings, ModelShape& s) {
  WEIR_TRY(const auto window, window_of(settings));
  return set_window(settings, s, window, every_layer);
}

constexpr std::array<Family, 6> kFamilies = {{
    {"llama", {"llama", "mistral", ""}, fill_llama},
    {"qwen2", {"qwen2", "", ""}, fill_qwen},
    {"qwen3", {"qwen3", "", ""}, fill_qwen3},
    {"gemma2", {"gemma2", "", ""}, fill_gemma2},
    {"gemma3", {"gemma3_text", "gemma3", ""}, fill_gemma3},
    {"phi3", {"phi3", "", ""}, fill_phi3},
}};

const Family* find_family(bool gguf, std::string_view name) {
  for (const Family& family : kFamilies) {
    if (gguf ? family.name == name
             : (!name.empty() && std::ranges::find(family.hf_types, name) != family.hf_types.end()))
      return &family;
  }
  return nullptr;
}

Status read_sizes(const Settings& settings, ModelShape& s) {
  WEIR_TRY(s.layers, settings.need_count({"block_count", "num_hidden_layers"}, 1, 4096));
  WEIR_TRY(s.width, settings.need_count({"embedding_length", "hidden_size"}, 1, 1U << 20));
  WEIR_TRY(s.heads,
           settings.need_count({"attention.head_count", "num_attention_heads"}, 1, 1U << 14));
  WEIR_TRY(const auto kv_heads,
           settings.count({"attention.head_count_kv", "num_key_value_heads"}, 1, 1U << 14));
  s.kv_heads = kv_heads.value_or(s.heads);
  WEIR_TRY(s.mlp_width,
           settings.need_count({"feed_forward_length", "intermediate_size"}, 1, 1U << 22));
  WEIR_TRY(const auto context,
           settings.need_count({"context_length", "max_position_embeddings"}, 1, 1U << 28));
  s.context = context;
  WEIR_TRY(s.norm_epsilon,
           settings.number_or({"attention.layer_norm_rms_epsilon", "rms_norm_eps"}, 1e-6F));
  WEIR_TRY(const auto head_dim, settings.count({"attention.key_length", "head_dim"}, 2, 4096));
  s.head_dim = head_dim.value_or(s.width / s.heads);
  WEIR_TRY(const auto value_dim, settings.count({"attention.value_length", ""}, 2, 4096));
  if (value_dim.value_or(s.head_dim) != s.head_dim) {
    return settings.unsupported(
        fmt::format("values of {} dimensions beside keys of {} are not supported", *value_dim,
                    s.head_dim),
        settings.spelled({"attention.value_length", ""}));
  }
  s.attention_scale = 1.0F / std::sqrt(static_cast<float>(s.head_dim));
  return {};
}

/// What the tensors that are there say: vocabulary, tied head, biases.
Status read_presence(const Settings& settings, ModelShape& s) {
  const TensorNames names(settings.file());
  const format::TensorView* embedding = settings.file().tensor(names.embedding());
  if (embedding == nullptr) {
    return settings.corrupt(fmt::format("tensor {} is missing", names.embedding()),
                            names.embedding());
  }
  if (embedding->shape.size() != 2 || embedding->shape[0] > 1U << 24) {
    return settings.corrupt(
        fmt::format("tensor {} is not a matrix of one row a token", names.embedding()),
        names.embedding());
  }
  s.vocabulary = static_cast<std::uint32_t>(embedding->shape[0]);
  const auto has = [&](Role role) {
    return settings.file().tensor(names.layer(0, role)) != nullptr;
  };
  s.tied_head = settings.file().tensor(names.head()) == nullptr ||
                settings.boolean({"", "tie_word_embeddings"}).value_or(false);
  s.qkv_bias = has(Role::kQBias) || has(Role::kQkvBias);
  s.output_bias = has(Role::kOutBias);
  return {};
}

Status check_activation(const Settings& settings, const ModelShape& s) {
  for (const char* key : {"hidden_activation", "hidden_act"}) {
    const auto name = settings.text({"", key});
    if (!name) continue;
    const bool silu = *name == "silu" || *name == "swish";
    const bool gelu = *name == "gelu_pytorch_tanh" ||
                      *name == "gelu";  // Gemma's old configs say "gelu" and mean tanh.
    if (s.activation == Activation::kSilu ? silu : gelu) return {};
    return settings.unsupported(
        fmt::format("activation \"{}\" is not one that {} models use", *name, s.architecture), key);
  }
  return {};
}

}  // namespace

std::vector<std::string_view> known_architectures() {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.name);
  return names;
}

Result<ModelShape> read_shape(const format::ModelFile& file) {
  const bool gguf = is_gguf(file);
  const char* key = gguf ? "general.architecture" : "model_type";
  const auto name = file.text(key);
  if (!name) {
    return fail(Code::kCorrupt,
                fmt::format("{}: {} is missing, so the kind of model is unknown", file.path(), key),
                key);
  }
  const Family* family = find_family(gguf, *name);
  if (family == nullptr) {
    return fail(Code::kUnsupported,
                fmt::format("{}: architecture \"{}\" is not supported (known: {})", file.path(),
                            *name, fmt::join(known_architectures(), ", ")),
                key);
  }
  const bool nested = !gguf && file.integer("text_config.hidden_size").has_value();
  const Settings settings(file, gguf, *name, nested ? "text_config." : "");

  ModelShape s;
  s.architecture = family->name;
  s.name = file.text(gguf ? "general.name" : "_name_or_path").value_or("");
  s.rope.scale_local_layers = true;
  WEIR_TRY_STATUS(read_sizes(settings, s));
  WEIR_TRY_STATUS(read_rope(settings, s));
  WEIR_TRY_STATUS(family->fill(settings, s));
  if (s.rope.scale_local_layers) s.rope.local_theta = s.rope.theta;
  WEIR_TRY_STATUS(read_presence(settings, s));
  WEIR_TRY_STATUS(check_activation(settings, s));
  if (auto valid = validate(s); !valid) {
    return fail(valid.error().code, fmt::format("{}: {}", file.path(), valid.error().message),
                valid.error().subject);
  }
  return s;
}

}  // namespace weir::model
