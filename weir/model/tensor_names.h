#pragma once

/// What each weight is called in each container. Hugging Face names differ between families only in
/// the norms of Gemma, and models with a vision tower nest the decoder under a prefix.
/// Thread safety: const functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/format/model_file.h"

namespace weir::model {

enum class Role : std::uint8_t {
  kAttentionNorm,
  kQ,
  kK,
  kV,
  kQkv,
  kQBias,
  kKBias,
  kVBias,
  kQkvBias,
  kQNorm,
  kKNorm,
  kOut,
  kOutBias,
  kPostAttentionNorm,
  kMlpNorm,
  kGate,
  kUp,
  kGateUp,
  kDown,
  kPostMlpNorm,
};
inline constexpr int kRoleCount = static_cast<int>(Role::kPostMlpNorm) + 1;

[[nodiscard]] bool is_gguf(const format::ModelFile& file);

class TensorNames {
 public:
  /// Finds the container, the prefix, and whether the norms are placed as Gemma's.
  explicit TensorNames(const format::ModelFile& file);

  [[nodiscard]] std::string embedding() const;
  [[nodiscard]] std::string output_norm() const;
  [[nodiscard]] std::string head() const;
  [[nodiscard]] std::string layer(std::uint32_t layer, Role role) const;
  /// Tensors of this decoder's layers begin with it: "blk." or "model.layers.".
  [[nodiscard]] std::string layer_prefix() const;
  /// Known to be in old files and to carry nothing: constants of RoPE.
  [[nodiscard]] static bool is_harmless(std::string_view name);

 private:
  bool gguf_;
  bool gemma_norms_ = false;
  std::string
      prefix_;  ///< Hugging Face: "model." or "language_model.model." or "model.language_model.".
};

}  // namespace weir::model
