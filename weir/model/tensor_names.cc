#include "weir/model/tensor_names.h"

#include <fmt/format.h>

#include <array>

namespace weir::model {
namespace {

struct RoleName {
  Role role;
  std::string_view gguf;
  std::string_view hf;
};

// GGUF names: gguf-py/gguf/constants.py. Phi-3's fused gate_up is called ffn_up there.
constexpr std::array<RoleName, kRoleCount> kRoleNames = {{
    {Role::kAttentionNorm, "attn_norm.weight", "input_layernorm.weight"},
    {Role::kQ, "attn_q.weight", "self_attn.q_proj.weight"},
    {Role::kK, "attn_k.weight", "self_attn.k_proj.weight"},
    {Role::kV, "attn_v.weight", "self_attn.v_proj.weight"},
    {Role::kQkv, "attn_qkv.weight", "self_attn.qkv_proj.weight"},
    {Role::kQBias, "attn_q.bias", "self_attn.q_proj.bias"},
    {Role::kKBias, "attn_k.bias", "self_attn.k_proj.bias"},
    {Role::kVBias, "attn_v.bias", "self_attn.v_proj.bias"},
    {Role::kQkvBias, "attn_qkv.bias", "self_attn.qkv_proj.bias"},
    {Role::kQNorm, "attn_q_norm.weight", "self_attn.q_norm.weight"},
    {Role::kKNorm, "attn_k_norm.weight", "self_attn.k_norm.weight"},
    {Role::kOut, "attn_output.weight", "self_attn.o_proj.weight"},
    {Role::kOutBias, "attn_output.bias", "self_attn.o_proj.bias"},
    {Role::kPostAttentionNorm, "post_attention_norm.weight", "post_attention_layernorm.weight"},
    {Role::kMlpNorm, "ffn_norm.weight", "post_attention_layernorm.weight"},
    {Role::kGate, "ffn_gate.weight", "mlp.gate_proj.weight"},
    {Role::kUp, "ffn_up.weight", "mlp.up_proj.weight"},
    {Role::kGateUp, "ffn_up.weight", "mlp.gate_up_proj.weight"},
    {Role::kDown, "ffn_down.weight", "mlp.down_proj.weight"},
    {Role::kPostMlpNorm, "post_ffw_norm.weight", "post_feedforward_layernorm.weight"},
}};

}  // namespace

bool is_gguf(const format::ModelFile& file) { return file.container().starts_with("GGUF"); }

TensorNames::TensorNames(const format::ModelFile& file) : gguf_(is_gguf(file)) {
  if (gguf_) return;
  prefix_ = "model.";
  for (const char* prefix : {"model.", "language_model.model.", "model.language_model."}) {
    if (file.tensor(fmt::format("{}embed_tokens.weight", prefix)) != nullptr) {
      prefix_ = prefix;
      break;
    }
  }
  gemma_norms_ =
      file.tensor(fmt::format("{}layers.0.pre_feedforward_layernorm.weight", prefix_)) != nullptr;
}

std::string TensorNames::embedding() const {
  return gguf_ ? "token_embd.weight" : prefix_ + "embed_tokens.weight";
}
std::string TensorNames::output_norm() const {
  return gguf_ ? "output_norm.weight" : prefix_ + "norm.weight";
}

std::string TensorNames::head() const {
  if (gguf_) return "output.weight";
  return prefix_.starts_with("language_model.") ? "language_model.lm_head.weight"
                                                : "lm_head.weight";
}

std::string TensorNames::layer(std::uint32_t layer, Role role) const {
  const RoleName& name = kRoleNames[static_cast<std::size_t>(role)];
  if (gguf_) return fmt::format("blk.{}.{}", layer, name.gguf);
  const bool before_mlp = role == Role::kMlpNorm && gemma_norms_;
  return fmt::format("{}layers.{}.{}", prefix_, layer,
                     before_mlp ? std::string_view("pre_feedforward_layernorm.weight") : name.hf);
}

std::string TensorNames::layer_prefix() const { return gguf_ ? "blk." : prefix_ + "layers."; }

bool TensorNames::is_harmless(std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq") || name.ends_with("attn_rot_embd.weight");
}

}  // namespace weir::model
