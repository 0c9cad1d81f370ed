#pragma once

/// A model's hyperparameters under one roof: each has a GGUF key (below "<architecture>.") and a
/// Hugging Face config.json key, and this reads whichever the container has. Nothing is trusted: a
/// value of the wrong type or out of its bounds is an Error that names the key as the file spells
/// it. Thread safety: const functions over an immutable file.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/format/model_file.h"

namespace weir::model {

/// One setting's two names; an empty one means that the container cannot state it.
struct Key {
  std::string_view gguf;  ///< Without the architecture: "block_count".
  std::string_view hf;    ///< "num_hidden_layers".
};

class Settings {
 public:
  /// `architecture` is GGUF's general.architecture; `hf_prefix` is "" or "text_config.".
  Settings(const format::ModelFile& file, bool gguf, std::string_view architecture,
           std::string_view hf_prefix);

  [[nodiscard]] bool gguf() const { return gguf_; }
  [[nodiscard]] const format::ModelFile& file() const { return file_; }

  /// The key as this file spells it.
  [[nodiscard]] std::string spelled(Key key) const;
  [[nodiscard]] bool has(Key key) const;

  /// Nothing when absent; an Error when present and not a whole number in [low, high]. A GGUF array
  /// (one value for each layer) must hold equal values: no family here differs from layer to layer.
  [[nodiscard]] Result<std::optional<std::uint32_t>> count(Key key, std::uint32_t low,
                                                           std::uint32_t high) const;
  [[nodiscard]] Result<std::uint32_t> need_count(Key key, std::uint32_t low,
                                                 std::uint32_t high) const;

  /// Nothing when absent; an Error when present and not a finite number.
  [[nodiscard]] Result<std::optional<float>> number(Key key) const;
  [[nodiscard]] Result<float> number_or(Key key, float otherwise) const;

  [[nodiscard]] std::optional<std::string_view> text(Key key) const;
  [[nodiscard]] std::optional<bool> boolean(Key key) const;
  [[nodiscard]] const std::vector<std::string>* texts(Key key) const;
  [[nodiscard]] std::optional<std::vector<float>> numbers(Key key) const;

  [[nodiscard]] std::unexpected<Error> unsupported(std::string what,
                                                   std::string subject = {}) const;
  [[nodiscard]] std::unexpected<Error> corrupt(std::string what, std::string subject = {}) const;

 private:
  const format::ModelFile& file_;
  bool gguf_;
  std::string prefix_;
};

}  // namespace weir::model
