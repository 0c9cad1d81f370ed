#pragma once

/// The description of a decoder-only transformer as data: sizes, and what its one decoder block
/// does in which order. Every family is a ModelShape; the forward pass reads it and knows no
/// family. Filled by model/architectures.cc from file metadata, validated once, then const. Thread
/// safety: a value.

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/result.h"

namespace weir {

enum class RopeLayout : std::uint8_t {
  kInterleaved,  ///< Pairs (2i, 2i+1): Llama weights as GGUF stores them.
  kHalves,       ///< Pairs (i, i + d/2): Hugging Face weights; Qwen, Gemma, Phi in GGUF as well.
};

enum class Activation : std::uint8_t { kSilu, kGeluTanh };

struct RopeShape {
  float theta = 10000.0F;        ///< Base of global layers.
  float local_theta = 10000.0F;  ///< Base of sliding-window layers (Gemma 3).
  std::uint32_t dims = 0;        ///< Rotated dimensions of each head; the rest pass through.
  RopeLayout layout = RopeLayout::kHalves;
  float position_scale = 1.0F;  ///< Positions are multiplied by this (linear scaling: 1 / factor).
  bool scale_local_layers =
      false;  ///< Whether position_scale applies to sliding-window layers too.
  std::vector<float> frequency_divisors;  ///< [dims / 2] or empty: Llama 3 and LongRoPE factors.
  /// [dims / 2] or empty: LongRoPE's second set, which takes the place of frequency_divisors when
  /// the model is loaded for more than original_context positions. Chosen once, at load, for all
  /// requests: choosing by the length reached so far would change the meaning of keys already
  /// cached.
  std::vector<float> long_frequency_divisors;
  std::uint32_t original_context = 0;  ///< 0 unless long_frequency_divisors is set.
  float magnitude = 1.0F;  ///< Multiplies cos and sin (YaRN, LongRoPE attention factor).
};

struct ModelShape {
  std::string architecture;  ///< "llama", "qwen2", "gemma3" and so on, as the file says it.
  std::string name;          ///< For people; may be empty.

  std::uint32_t layers = 0;
  std::uint32_t width = 0;  ///< d_model.
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;  ///< Divides heads (GQA).
  std::uint32_t head_dim = 0;
  std::uint32_t mlp_width = 0;
  std::uint32_t vocabulary = 0;
  std::uint32_t context = 0;  ///< Positions the model was trained for.
  float norm_epsilon = 1e-5F;

  RopeShape rope;

  float attention_scale = 0.0F;     ///< Multiplies q.k; never 0 after validation.
  float attention_soft_cap = 0.0F;  ///< 0 is none: s -> cap * tanh(s / cap) (Gemma 2).
  float logit_soft_cap = 0.0F;
  float embedding_scale = 1.0F;  ///< sqrt(width) for Gemma.
  float logit_scale = 1.0F;

  std::uint32_t window = 0;  ///< Sliding window in tokens, itself included; 0 is none.
  std::vector<bool>
      local_layer;  ///< [layers] true where the window applies; empty when window is 0.

  Activation activation = Activation::kSilu;
  bool tied_head = false;      ///< The head is the embedding.
  bool norm_adds_one = false;  ///< Norm weights are stored as w - 1 (Gemma in safetensors).
  bool qk_norm = false;        ///< RMS norm of each q and k head before RoPE (Qwen 3, Gemma 3).
  bool post_norms = false;     ///< Norms after attention and MLP, before the residual (Gemma 2, 3).
  bool qkv_bias = false;       ///< Qwen 2.
  bool output_bias = false;    ///< On the attention output.

  [[nodiscard]] std::uint32_t q_width() const { return heads * head_dim; }
  [[nodiscard]] std::uint32_t kv_width() const { return kv_heads * head_dim; }
  [[nodiscard]] bool is_local(std::uint32_t layer) const {
    return window != 0 && local_layer[layer];
  }
};

/// Every bound the forward pass and the arena rely on; names the first one broken.
[[nodiscard]] Status validate(const ModelShape& shape);

}  // namespace weir
